"""Tic-tac-toe as a value: who replies, which side is played, and all that can happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.agents import Agent, ask
from tile_envs.base import checks
from tile_envs.errors import UsageError
from tile_envs.game import DRAWN, TEXT, Positions, Replies, Symmetries, board_symmetries
from tile_envs.tictactoe import positions, render
from tile_envs.tictactoe.positions import CELLS, DIGITS, PLAYED, SIDE, Ints, solve

NAMED: dict[str, Callable[[], Ints]] = {
    "random": lambda: solve().legal,
    "minimax": lambda: solve().best,
    "minimax_first": lambda: solve().best & -solve().best,  # the lowest bit alone
}
"""The named opponents: for each position a set of cells, of which one is played, uniformly."""

Outcome = tuple[float, int, float, bool]


@dataclass(frozen=True)
class TicTacToe:
    """Tic-tac-toe against an opponent, or for both sides; see `tile_envs.game.Game`.

    Attributes:
        opponent: "random", "minimax", "minimax_first", or an agent with `predict`.
        side: What the agent plays: "X", "O", "random" or "both".

    Raises:
        ValueError: If a value is not as described.
    """

    opponent: str | Agent = "random"
    side: str = "X"

    name: ClassVar[str] = "tic-tac-toe"
    shape: ClassVar[tuple[int, int]] = (SIDE, SIDE)
    n_actions: ClassVar[int] = CELLS  # the cells, row by row
    n_values: ClassVar[int] = 3  # empty, own and other marks
    sides: ClassVar[tuple[str, ...]] = ("X", "O")

    def __post_init__(self) -> None:
        checks.check_named(self.opponent, "opponent", NAMED, Agent, "an agent with predict()")
        checks.checked_choice(self.side, "side", list(PLAYED))

    def __str__(self) -> str:
        return self.name

    @property
    def policy(self) -> Ints | None:
        """By position, the cells of which a named opponent plays one; None for an agent."""
        return NAMED[self.opponent]() if isinstance(self.opponent, str) else None

    def ask_opponent(self, codes: Ints, marks: Ints) -> Ints:
        """Return the cells `(n,)` that an agent plays with marks `(n,)` in positions `(n,)`."""
        assert not isinstance(self.opponent, str)
        tables = solve()
        masks = tables.masks[codes].view(np.bool_)
        replies, _ = ask(self.opponent, tables.views[marks, codes], masks)
        who = f"the opponent {type(self.opponent).__name__} (its predict() may take action_masks)"
        return checks.checked_cells(replies, masks, tables.marks[codes], who)

    @cached_property
    def symmetries(self) -> Symmetries:
        """The eight symmetries of the board; actions move with their cells."""
        cells, _ = board_symmetries(self.shape)
        return Symmetries(cells, np.argsort(cells, axis=1))

    def legal_actions(self, boards: ArrayLike) -> NDArray[np.int8]:
        """Return the action masks `(n, 9)` of positions `(n, 3, 3)`, from either point of view."""
        return positions.legal_actions(boards)

    def afterstates(
        self, boards: ArrayLike
    ) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int8]]:
        """Return what each action makes of positions; see `tile_envs.tictactoe.afterstates`."""
        return positions.afterstates(boards)

    def replies(self, afterstates: ArrayLike) -> Replies:
        """Return the positions after afterstates `(n, 3, 3)` as the one who has moved sees them.

        A named opponent has replied; with side "both", the other player moves next, and sees the
        afterstate from the other side.  Afterstates that end the game have no reply.

        Raises:
            ValueError: If these are no positions, or the opponent has no name.
        """
        tables = solve()
        boards = positions.checked_marks(afterstates)
        codes = positions.encode_seen(-boards)  # as the other player sees them, who is to move
        movers = -tables.to_move[codes]
        going_on = np.flatnonzero(~tables.over[codes])
        if self.side == "both":
            return Replies(going_on, -boards[going_on], np.ones(len(going_on)))
        if (policy := self.policy) is None:
            raise UsageError(
                f"the replies of {checks.brief(self.opponent)} are not known: only named "
                f"opponents say what they play, {', '.join(NAMED)}."
            )
        cells = policy[codes[going_on], None] >> np.arange(CELLS) & 1
        rows, chosen = np.nonzero(cells)
        parents = going_on[rows]
        replied = tables.views[movers[parents], tables.children[codes[parents], chosen]]
        return Replies(parents, replied, (1 / cells.sum(axis=1))[rows])

    def checked_positions(
        self, values: Mapping[str, Any], num_envs: int | None = None
    ) -> Positions:
        """Return codes `(n,)` and, of a state, marks to play `(n,)`; see `tile_envs.game.Game`."""
        boards = checks.broadcast_boards(values["board"], self.shape, num_envs)
        tables, codes = solve(), positions.encode(positions.checked_marks(boards))
        lost = np.flatnonzero(~tables.reachable[codes])
        if lost.size:
            raise UsageError(
                "board must be one that play can lead to (1 for X, who moves first, and -1 for O), "
                f"got {boards[lost[0]].tolist()}."
            )
        if "mark" not in values:
            return (codes,)
        marks, sides = checks.as_array(values["mark"]), PLAYED[self.side]
        marks = marks if num_envs else marks[None]
        usable = marks.shape == codes.shape and marks.dtype.kind in "iu"
        if not usable or not np.all(
            np.isin(marks, sides) & (tables.over[codes] | (marks == tables.to_move[codes]))
        ):
            raise UsageError(
                f"a state's mark must be the one to play, for side {self.side!r} one of {sides}, "
                f"got {checks.brief(marks.tolist())}."
            )
        return codes, marks.astype(np.int64)

    def draw(self, board: NDArray[np.int8], mode: str, score: int = 0) -> Any:
        """Return marks `(3, 3)`, 1 X and -1 O, as text (mode `ansi`) or a picture; no score."""
        (board,) = positions.checked_marks(checks.broadcast_boards(board, self.shape))
        is_text = checks.checked_choice(mode, "mode", DRAWN) == TEXT
        return (render.text if is_text else render.picture)(board)

    def to_json(self) -> str:
        """Return the game as JSON text, unless the opponent is an object; see `Game`."""
        return json.dumps(asdict(self))


def transitions(opponent: str = "random", side: str = "X") -> dict[int, dict[int, list[Outcome]]]:
    """Return all that can happen, as `env.P` of Gymnasium's toy environments.

    Value iteration, by the positions with the most marks first, finds what perfect play is worth:

    Examples:
        >>> P, V = transitions("random", "X"), {}
        >>> def filled(code):
        ...     return sum(code // 3**cell % 3 > 0 for cell in range(9))
        >>> for state in sorted(P, key=filled, reverse=True):
        ...     values = [
        ...         sum(p * (reward + V[after]) for p, after, reward, terminated in outcomes)
        ...         for outcomes in P[state].values()
        ...     ]
        ...     V[state] = max(values, default=0.0)
        >>> f"{V[0]:.4f}"
        '0.9948'

    Args:
        opponent: A named opponent: "random", "minimax" or "minimax_first".
        side: What the agent plays: "X", "O", or "both"; "random" has the positions of both sides.

    Returns:
        By state, by legal action, the outcomes: `(probability, next state, reward, terminated)`.  A
        state is the code of a position in which the agent is to move, the empty board 0; each cell
        is a digit to the base 3, the first one lowest: 0 empty, 1 X, 2 O.  States in which the game
        is over have no actions.  With side "both", the reward is that of the one who has moved.

    Raises:
        ValueError: If an argument is not as described.
    """
    policy = NAMED[checks.checked_choice(opponent, "opponent", list(NAMED))]()
    checks.checked_choice(side, "side", list(PLAYED))
    tables = solve()
    over, winner = tables.over.tolist(), tables.winner.tolist()
    states = np.flatnonzero(tables.reachable & np.isin(tables.to_move, PLAYED[side])).tolist()
    table: dict[int, dict[int, list[Outcome]]] = {state: {} for state in states}
    for state in states:
        mark = int(tables.to_move[state])
        for action in _cells(tables.legal[state]):
            after = state + DIGITS[mark] * 3**action
            following = [after]
            if side != "both" and not over[after]:
                following = [after + DIGITS[-mark] * 3**cell for cell in _cells(policy[after])]
            probability = 1 / len(following)
            table[state][action] = [
                (probability, code, float(winner[code] * mark), over[code]) for code in following
            ]
            table |= {code: {} for code in following if over[code]}
    return table


def _cells(cells: np.int64) -> list[int]:
    return [cell for cell in range(CELLS) if cells >> cell & 1]
