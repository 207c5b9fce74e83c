"""Tic-tac-toe as a value: who replies, which side is played, and all that can happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from tile_envs.agents import Agent, ask
from tile_envs.base import checks, random_stream, sets
from tile_envs.base.random_stream import STRIDE, Words, mix, thresholds
from tile_envs.base.tables import read_only
from tile_envs.errors import UsageError
from tile_envs.game import Bools, Floats, Game, Info, Observations, Positions, Replies, Symmetries
from tile_envs.tictactoe import positions, render
from tile_envs.tictactoe.positions import CELLS, PLAYED, POWERS, Ints, O, X, solve

_STRIDE, _TOP_BIT = np.array(STRIDE, np.uint64), np.array(63, np.uint64)
_ZERO, _ONE = np.array(0), np.array(1)
_DIGITS = np.array([0, positions.DIGITS[X], positions.DIGITS[O]])  # in a code, by mark

NAMED: dict[str, Callable[[], Ints]] = {
    "random": lambda: solve().legal,
    "minimax": lambda: solve().best,
    "minimax_first": lambda: solve().best & -solve().best,  # the lowest bit alone
}
"""The named opponents: for each position a set of cells, of which one is played, uniformly."""

Mixture = tuple[tuple[str, float], ...]  # opponents and probabilities, in the order of `NAMED`
Outcome = tuple[float, int, float, bool]


class State(NamedTuple):
    """Many games of tic-tac-toe, arrays `(n,)`."""

    streams: Words  # the positions of the random streams
    over: Bools  # the games that have ended
    legal: Ints  # the legal actions, as bits
    codes: Ints  # the positions (see `positions`)
    marks: Ints  # the mark that is played, 1 X, -1 O


@dataclass(frozen=True)
class TicTacToe(Game):
    """Tic-tac-toe against an opponent, or for both sides; see `tile_envs.game.Game`.

    The options are those in the manual of `tile_envs.tictactoe.TicTacToeEnv`.
    """

    opponent: str | Mixture | Agent = "random"
    side: str = "X"

    name = "tic-tac-toe"
    reset_options = ("board",)
    shape = positions.SIDE, positions.SIDE
    n_actions = CELLS  # the cells, row by row
    n_values = 3  # empty, own and other marks
    sides = "X", "O"

    def __post_init__(self) -> None:
        if isinstance(self.opponent, Mapping | list | tuple):  # pairs are lists in JSON
            vars(self).update(opponent=_checked_mixture(self.opponent))  # past the frozen dataclass
        wanted = "an agent with predict(), or names with probabilities, {'minimax': 0.8, …}"
        if not isinstance(self.opponent, tuple):
            checks.check_named(self.opponent, "opponent", NAMED, "predict", wanted)
        checks.checked_choice(self.side, "side", list(PLAYED))

    def __str__(self) -> str:
        return self.name

    @property
    def observation_space(self) -> spaces.Box:
        return spaces.Box(-1, 1, self.shape, np.int8)

    @property
    def loops(self) -> str | None:
        return "tile_envs.tictactoe.compiled" if self.mixture else None

    @cached_property
    def mixture(self) -> Mixture:
        """The named opponents with their probabilities; none if the opponent is an agent."""
        if isinstance(self.opponent, str):
            return ((self.opponent, 1.0),)
        return self.opponent if isinstance(self.opponent, tuple) else ()

    @cached_property
    def policies(self) -> Policies:
        return policies(self.mixture)

    def _begin_from(self, streams: Words, positions: Positions | None = None) -> State:
        codes, *marks = positions or (np.zeros(len(streams), np.int64),)
        tables, over = solve(), np.zeros(len(streams), np.bool_)
        movers = tables.to_move.take(codes)
        if marks or self.side == "both":
            return State(streams, over, tables.legal.take(codes), codes, *(marks or [movers]))
        if self.side == "random":
            streams = streams + _STRIDE
            played = np.where(mix(streams) >> _TOP_BIT, O, X)
        else:
            played = np.full(len(streams), PLAYED[self.side][0])
        asked = (played != movers) & ~tables.over.take(codes)
        if asked.any():
            codes, streams = self._replied(codes, streams, -played, asked)
        return State(streams, over, tables.legal.take(codes), codes, played)

    def _play(self, state: State, actions: Ints) -> tuple[State, Floats, Bools]:
        tables, (streams, _, legal, codes, marks) = solve(), state
        legal = legal >> actions & _ONE
        codes = codes + POWERS.take(actions) * _DIGITS.take(marks) * legal
        following = marks
        if self.side == "both":
            following = marks - 2 * marks * legal
        else:
            asked = legal > tables.over.take(codes)
            codes, streams = self._replied(codes, streams, -marks, asked)
        rewards = (tables.winner.take(codes) * marks * legal).astype(np.float64)
        bits = tables.legal.take(codes)
        return State(streams, bits == _ZERO, bits, codes, following), rewards, legal == _ZERO

    def _replied(
        self, codes: Ints, streams: Words, marks: Ints, asked: Bools
    ) -> tuple[Ints, Words]:
        """Return codes and streams after the opponent's reply, with `marks`, where it is asked."""
        if not self.mixture:
            if asked.any():
                codes, moved = codes.copy(), codes[asked]
                codes[asked] = solve().children[moved, self.ask_opponent(moved)]
            return codes, streams
        streams = streams + asked * _STRIDE
        words, policy, places = mix(streams), self.policies, codes
        if policy.thresholds:
            which = random_stream.pick(words, policy.thresholds).astype(np.int64)
            places = codes + which * 3**CELLS
        cells = sets.pick(policy.cells.take(places), words)
        return codes + POWERS.take(cells) * _DIGITS.take(marks) * asked, streams

    def _observe(self, state: State) -> tuple[Observations, Info]:
        return solve().views[state.marks, state.codes], {
            "action_mask": sets.masks(CELLS).take(state.legal, axis=0),
            "to_play": state.marks.copy(),
            "winner": solve().winner.take(state.codes),
        }

    def _position(self, state: State) -> dict[str, NDArray[Any]]:
        return {"board": solve().marks[state.codes], "mark": state.marks.copy()}

    def ask_opponent(self, codes: Ints) -> Ints:
        """Return the cells `(n,)` that an agent plays in positions `(n,)`, in which it moves."""
        assert not isinstance(self.opponent, str | tuple)
        tables = solve()
        masks = tables.masks[codes].view(np.bool_)
        replies, _ = ask(self.opponent, tables.views[tables.to_move[codes], codes], masks)
        who = f"the opponent {type(self.opponent).__name__} (its predict() may take action_masks)"
        return checks.checked_cells(replies, masks, tables.marks[codes], who)

    @cached_property
    def symmetries(self) -> Symmetries:
        cells = Symmetries.of_board(self.shape).cells
        return Symmetries(cells, np.argsort(cells, axis=1))

    def legal_actions(self, boards: ArrayLike) -> NDArray[np.int8]:
        return positions.legal_actions(boards)

    def afterstates(self, boards: ArrayLike) -> tuple[NDArray[np.int8], Ints, NDArray[np.int8]]:
        return positions.afterstates(boards)

    def replies(self, afterstates: ArrayLike) -> Replies:
        """Return the positions after afterstates `(n, 3, 3)` as the one who has moved sees them.

        With side "both", the other player moves next, and sees the afterstate from the other side.
        """
        tables, boards = solve(), positions.checked_marks(afterstates)
        codes = positions.encode_seen(-boards)  # as the other player sees them, who is to move
        going_on = np.flatnonzero(~tables.over[codes])
        if self.side == "both":
            return Replies(going_on, -boards[going_on], np.ones(len(going_on)))
        if not self.mixture:
            who = f"{checks.brief(self.opponent)} are not known: only named opponents"
            raise UsageError(f"the replies of {who} say what they play, {', '.join(NAMED)}.")
        shares = self.policies.probabilities[codes[going_on]]
        rows, chosen = np.nonzero(shares)
        parents = going_on[rows]
        before = codes[parents]
        replied = tables.views[-tables.to_move[before], tables.children[before, chosen]]
        return Replies(parents, replied, shares[rows, chosen])

    def checked_positions(
        self, values: Mapping[str, Any], num_envs: int | None = None
    ) -> Positions:
        boards = checks.broadcast_boards(values["board"], self.shape, num_envs)
        tables, codes = solve(), positions.encode(positions.checked_marks(boards))
        for board in boards[~tables.reachable[codes]][:1]:
            wanted = "one that play can lead to (1 for X, who moves first, and -1 for O)"
            raise UsageError(f"board must be {wanted}, got {board.tolist()}.")
        if "mark" not in values:
            return (codes,)
        marks, sides = checks.as_array(values["mark"]), PLAYED[self.side]
        marks = marks[None] if num_envs is None else marks
        usable = marks.shape == codes.shape and marks.dtype.kind in "iu"
        moves = tables.over[codes] | (tables.to_move[codes] == marks) if usable else False
        if not np.all(np.isin(marks, sides) & moves):
            wanted = f"the one to play, for side {self.side!r} one of {sides}"
            raise UsageError(f"mark must be {wanted}, got {checks.brief(marks.tolist())}.")
        return codes, marks.astype(np.int64)

    def is_success(self, infos: Info) -> Bools:
        """Tell which games the played side has won; with side "both", which are no draws."""
        winner = infos["winner"]
        return np.asarray(winner != 0 if self.side == "both" else winner == infos["to_play"])

    def draw(self, board: NDArray[np.int8], mode: str, score: int = 0) -> Any:
        (board,) = positions.checked_marks(checks.broadcast_boards(board, self.shape))
        drawing = render.drawing(board)
        return drawing.text() if checks.is_text(mode) else drawing.picture()

    def to_json(self) -> str:
        return json.dumps({"opponent": self.opponent, "side": self.side})


class Policies(NamedTuple):
    """What k opponents play: the low half of a reply's word draws one, the high half a cell."""

    cells: Ints  # `(k * 19683,)`, by opponent and position, the set of which one is played
    thresholds: tuple[Words, ...]  # where the low half of a word passes to the next opponent
    probabilities: Floats  # `(19683, 9)`, of each cell in each position


@cache
def policies(mixture: Mixture) -> Policies:
    names, weights = zip(*mixture, strict=True)
    cells, shares = [NAMED[name]() for name in names], np.zeros((3**CELLS, CELLS))
    for each, weight in zip(cells, weights, strict=True):
        shares += weight * (sets.masks(CELLS)[each] / np.maximum(sets.SIZE[each], 1)[:, None])
    bounds = tuple(np.array(t, np.uint64) for t in thresholds(weights))
    return Policies(read_only(np.concatenate(cells)), bounds, read_only(shares))


def _checked_mixture(given: Any) -> str | Mixture:
    """Return named opponents with their probabilities; a single one is its name."""
    known = partial(checks.checked_choice, name="an opponent with a probability", choices=[*NAMED])
    wanted = "opponent", "named opponents", "{'minimax': 0.8, 'random': 0.2}", known
    probabilities = checks.checked_distribution(given, *wanted)
    pairs = tuple((name, probabilities[name]) for name in NAMED if name in probabilities)
    return pairs if pairs[1:] else pairs[0][0]


def transitions(
    opponent: str | Mapping[str, float] = "random", side: str = "X"
) -> dict[int, dict[int, list[Outcome]]]:
    """Return all that can happen, as `env.P` of Gymnasium's toy environments.

    Examples:
        >>> P = transitions("random", "X")
        >>> @cache
        ... def value(state):  # of perfect play
        ...     found = [sum(p * (r + value(s)) for p, s, r, _ in o) for o in P[state].values()]
        ...     return max(found, default=0)
        >>> f"{value(0):.4f}"
        '0.9948'

    The opponent has a name, or is some of these with probabilities; the side "random" has the
    positions of both sides.

    Returns:
        By state, by legal action, the outcomes: `(probability, next state, reward, terminated)`.  A
        state is the code of a position in which the agent is to move, the empty board 0; each cell
        is a digit to the base 3, the first one lowest: 0 empty, 1 X, 2 O.  States in which the game
        is over have no actions.  With side "both", the reward is that of the one who has moved.
    """
    if not isinstance(opponent, Mapping):
        checks.checked_choice(opponent, "opponent", list(NAMED))
    shares = TicTacToe(opponent, side).policies.probabilities  # type: ignore[arg-type]
    tables = solve()
    arrays = tables.over, tables.winner, tables.children, shares
    over, winner, children, replies = (array.tolist() for array in arrays)
    states = np.flatnonzero(tables.reachable & np.isin(tables.to_move, PLAYED[side])).tolist()
    table: dict[int, dict[int, list[Outcome]]] = {state: {} for state in states}
    for state in states:
        mark = int(tables.to_move[state])
        for action in np.flatnonzero(tables.masks[state]).tolist():
            after = children[state][action]
            following = {after: 1.0}
            if side != "both" and not over[after]:
                following = {children[after][cell]: p for cell, p in enumerate(replies[after]) if p}
            table[state][action] = [
                (p, code, float(winner[code] * mark), over[code]) for code, p in following.items()
            ]
            table |= {code: {} for code in following if over[code]}
    return table
