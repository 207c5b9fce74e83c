"""Many games of tic-tac-toe, played by compiled code, one game after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.compiled import HALF, NEXT, Word, compiled, compiled_loop, mixed
from tile_envs.base.compiled_engine import (
    Common,
    CompiledEngine,
    Ends,
    Ints,
    all_inside,
    clear,
    finish,
)
from tile_envs.base.engine import Bools, Outcome
from tile_envs.base.random_stream import Words
from tile_envs.tictactoe.game import PLAYED
from tile_envs.tictactoe.numpy_engine import MarksPositions, TicTacToeEngine
from tile_envs.tictactoe.positions import CELLS, DIGITS, KTH_CELL, POWERS, SET_SIZE, SIDE, O, X

SIDE_X, SIDE_O, SIDE_RANDOM, SIDE_BOTH = range(len(PLAYED))
TOP_BIT = Word(63)
X_DIGIT, O_DIGIT = DIGITS[X], DIGITS[O]


class Shown(NamedTuple):
    """Room for what is shown of the games, `(n, ...)`.

    Attributes:
        observations: The observations.
        masks: The masks.
        marks: The marks that the observations' 1 stands for.
        winners: Who has won.
        illegal: Whether the last action was illegal.
    """

    observations: NDArray[np.int8]
    masks: NDArray[np.int8]
    marks: Ints
    winners: Ints
    illegal: Bools


class State(NamedTuple):
    """The positions of the games, as `TicTacToeEngine` has them."""

    codes: Ints
    marks: Ints


class Known(NamedTuple):
    """What is known of positions, as `Positions` has it; and who plays.

    Attributes:
        views: `Positions.views`.
        masks: `Positions.masks`.
        winner: `Positions.winner`.
        over: `Positions.over`.
        legal: `Positions.legal`.
        policy: By code, the cells of which the opponent plays one.
        side: What the agent plays, an index of `PLAYED`.
    """

    views: NDArray[np.int8]
    masks: NDArray[np.int8]
    winner: Ints
    over: Bools
    legal: Ints
    policy: Ints
    side: int


# Where the arrays of each kind end among those that a loop takes.
A = len(Ends._fields)
B = A + len(Shown._fields)
C = B + len(Common._fields)
D = C + len(State._fields)


@compiled_loop
def play_all(actions: Ints, *arrays: Any) -> bool:
    """Play a step of all games; see `CompiledEngine`."""
    ends, shown, common = Ends(*arrays[:A]), Shown(*arrays[A:B]), Common(*arrays[B:C])
    state, known = State(*arrays[C:D]), Known(*arrays[D:])
    if not all_inside(actions, CELLS):
        return False
    for i in range(len(actions)):
        if common.ended[i]:
            begin(known, common, state, i)
            ends.rewards[i], ends.terminations[i], ends.truncations[i] = 0.0, False, False
        else:
            action, reward = actions[i], 0.0
            legal = bool(known.legal[state.codes[i]] >> action & 1)
            if legal:
                reward = play(known, common, state, i, action)
            finish(common, ends, i, reward, legal, known.over[state.codes[i]])
        show(known, common, state, shown, i)
    return True


@compiled_loop
def begin_all(games: Ints, *arrays: Any) -> None:
    """Begin some games anew, and show them; see `CompiledEngine`."""
    shown, common = Shown(*arrays[A:B]), Common(*arrays[B:C])
    state, known = State(*arrays[C:D]), Known(*arrays[D:])
    for i in games:
        begin(known, common, state, i)
        show(known, common, state, shown, i)


@compiled_loop
def chosen_all(words: Words, legal: Ints, codes: Ints) -> Ints:
    """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
    actions = np.empty(len(words), np.int64)
    for i in range(len(words)):
        actions[i] = one_of(legal[codes[i]], words[i])
    return actions


@compiled
def play(known: Known, common: Common, state: State, i: int, action: int) -> float:
    """Play a legal action in one game, and let the opponent answer; return the reward."""
    mark = state.marks[i]
    code = with_mark(state.codes[i], mark, action, True)
    asked = (known.side != SIDE_BOTH) & (not known.over[code])
    code = answered(known, common, i, code, -mark, asked)
    state.codes[i] = code
    state.marks[i] = -mark if known.side == SIDE_BOTH else mark
    return float(known.winner[code] * mark)


@compiled
def begin(known: Known, common: Common, state: State, i: int) -> None:
    """Begin one game anew; an opponent that plays X moves."""
    clear(common, i)
    mark = O if known.side == SIDE_O else X
    if known.side == SIDE_RANDOM:
        common.streams[i] += NEXT
        mark = O if mixed(common.streams[i]) >> TOP_BIT else X
    state.marks[i] = mark
    state.codes[i] = answered(known, common, i, 0, X, mark == O)


@compiled
def answered(known: Known, common: Common, i: int, code: int, mark: int, asked: bool) -> int:
    """Return the position after the reply of the opponent, who plays `mark`, if it is asked."""
    # There is no branch for games in which it is not: numba would count references there.
    common.streams[i] += NEXT * Word(asked)
    cell = one_of(known.policy[code], mixed(common.streams[i]))
    return with_mark(code, mark, cell, asked)


@compiled
def with_mark(code: int, mark: int, cell: int, is_set: bool) -> int:
    """Return the code of a position after a mark on a cell, if it is set."""
    marked: int = code + POWERS[cell] * (X_DIGIT if mark == X else O_DIGIT) * is_set
    return marked


@compiled
def one_of(cells: int, word: Word) -> int:
    """Choose one of a set of cells by a random word; 0 if it is empty."""
    k = (word >> HALF) * SET_SIZE[cells] >> HALF
    cell: int = KTH_CELL[cells * CELLS + np.int64(k)]
    return cell


@compiled
def show(known: Known, common: Common, state: State, shown: Shown, i: int) -> None:
    """Write what is shown of one game."""
    code, mark = state.codes[i], state.marks[i]
    for cell in range(CELLS):
        shown.observations[i, cell] = known.views[mark, code, cell]
        shown.masks[i, cell] = known.masks[code, cell]
    shown.marks[i] = mark
    shown.winners[i] = known.winner[code]
    shown.illegal[i] = common.illegal[i]


class CompiledTicTacToeEngine(CompiledEngine[MarksPositions], TicTacToeEngine):
    """Many games of tic-tac-toe, whose opponent has a name, played by compiled code.

    Args:
        game: The game.
        terms: How it is played.
    """

    _loops = play_all, begin_all

    @property
    def _what(self) -> str:
        return "tic-tac-toe"

    def _arrays(self) -> tuple[Any, ...]:
        positions = self._known
        assert self._policy is not None
        known = Known(
            positions.views.reshape(*positions.views.shape[:2], CELLS),
            positions.masks,
            positions.winner,
            positions.over,
            positions.legal,
            self._policy,
            PLAYED.index(self._side),
        )
        return self._codes, self._marks, *known

    def _room(self, n: int) -> tuple[NDArray[np.int8], dict[str, NDArray[Any]]]:
        return np.empty((n, SIDE, SIDE), np.int8), {
            "action_mask": np.empty((n, CELLS), np.int8),
            "to_play": np.empty(n, np.int64),
            "winner": np.empty(n, np.int64),
            "illegal": np.empty(n, np.bool_),
        }

    def _shown(self, outcome: Outcome) -> Shown:
        return Shown(outcome.observations.reshape(-1, CELLS), *outcome.infos.values())

    def choose_legal(self, words: Words) -> Ints:
        """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
        return chosen_all(words, self._known.legal, self._codes)
