"""Many sliding games, played by compiled code, one game after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.compiled import HALF, NEXT, ONE, Word, compiled, compiled_loop, mixed
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
from tile_envs.sliding.kernels import (
    ACTIONS_END,
    GameTables,
    Lines,
    both_following,
    drawn_tile,
    empty_cells,
    game_tables,
    is_vertical,
    one_of,
    placed,
    push,
    transposed,
)
from tile_envs.sliding.numpy_engine import KTH_LEGAL, N_LEGAL, SlidingEngine, SlidingPositions
from tile_envs.sliding.rules import MAX_SIDE

NONE = Word(0)
BYTE, TWO_BYTES = Word(8), Word(16)
NO_ROWS = np.empty((0, 0), np.uint32)
# What spreads the cells of a line, 5 bits each, to a byte each: first in pairs, then one by one.
LOW_PAIR, HIGH_PAIR, TO_PAIRS = Word(0x003FF), Word(0xFFC00), Word(6)
EVEN_CELL, ODD_CELL, TO_BYTES = Word(0x001F001F), Word(0x03E003E0), Word(3)
# What spreads four bits to a byte each: bit k of copy k stays.
FOUR_TIMES, LOWEST_BITS = Word(0x00204081), Word(0x01010101)


class Looks(NamedTuple):
    """What the engine looks up besides `GameTables`.

    Attributes:
        row_legal: `Tables.row_legal`.
        column_legal: `Tables.column_legal`.
        faces: The face of each tile index.
        start: The tiles of a start, as `Start.tiles`.
    """

    row_legal: NDArray[np.uint8]
    column_legal: NDArray[np.uint8]
    faces: Ints
    start: Words


class State(NamedTuple):
    """The boards of the games, as `SlidingEngine` has them."""

    legal: Ints
    scores: Ints
    largest: Ints
    lines: Ints


class Shown(NamedTuple):
    """Room for what is shown of the games, `(n, ...)`.

    Attributes:
        rows: The rows of observations that have four columns, a byte a cell; else nothing.
        observations: The observations.
        masks: The masks, a byte an action.
        scores: The scores.
        max_tiles: The faces of the largest tiles.
        illegal: Whether the last action was illegal.
    """

    rows: NDArray[np.uint32]
    observations: NDArray[np.uint8]
    masks: NDArray[np.uint32]
    scores: Ints
    max_tiles: Ints
    illegal: Bools


# Where the arrays of each kind end among those that a loop takes.
A = len(Ends._fields)
B = A + len(Shown._fields)
C = B + len(Common._fields)
D = C + len(State._fields)
E = D + len(GameTables._fields)


@compiled_loop
def play_all(actions: Ints, *arrays: Any) -> bool:
    """Play a step of all games; see `CompiledEngine`."""
    ends, shown, common = Ends(*arrays[:A]), Shown(*arrays[A:B]), Common(*arrays[B:C])
    state, game, looks = State(*arrays[C:D]), GameTables(*arrays[D:E]), Looks(*arrays[E:])
    if not all_inside(actions, 4):
        return False
    for i in range(len(actions)):
        if common.ended[i]:
            begin(game, looks, common, state, i)
            ends.rewards[i], ends.terminations[i], ends.truncations[i] = 0.0, False, False
        else:
            action, reward = Word(actions[i]), 0.0
            legal = bool(Word(state.legal[i]) >> action & ONE)
            if legal:
                reward = play(game, looks, common, state, i, action)
            finish(common, ends, i, reward, legal, state.legal[i] == 0)
        show(game, looks, common, state, shown, i)
    return True


@compiled_loop
def begin_all(games: Ints, *arrays: Any) -> None:
    """Begin some games anew, and show them; see `CompiledEngine`."""
    shown, common = Shown(*arrays[A:B]), Common(*arrays[B:C])
    state, game, looks = State(*arrays[C:D]), GameTables(*arrays[D:E]), Looks(*arrays[E:])
    for i in games:
        begin(game, looks, common, state, i)
        show(game, looks, common, state, shown, i)


@compiled_loop
def chosen_all(words: Words, legal: Ints) -> Ints:
    """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
    actions = np.empty(len(words), np.int64)
    for i in range(len(words)):
        k = (words[i] >> HALF) * N_LEGAL[legal[i]] >> HALF
        actions[i] = KTH_LEGAL[Word(legal[i]) * ACTIONS_END + k]
    return actions


@compiled
def play(
    game: GameTables, looks: Looks, common: Common, state: State, i: int, action: Word
) -> float:
    """Play a legal action in one game; return the reward."""
    axis = 1 if is_vertical(action) else 0
    lines = state.lines
    after = push(
        game,
        action,
        Word(lines[axis, 0, i]),
        Word(lines[axis, 1, i]),
        Word(lines[axis, 2, i]),
        Word(lines[axis, 3, i]),
    )
    position = common.streams[i] + NEXT
    common.streams[i] = position
    word = mixed(position)
    rows, columns = both_following(game, game.adversarial, action, after, word)
    settle(looks, state, i, rows, columns)
    state.largest[i] = max(after.largest, drawn_tile(game, word))
    state.scores[i] += np.int64(after.reward)
    return np.float64(after.reward)


@compiled
def begin(game: GameTables, looks: Looks, common: Common, state: State, i: int) -> None:
    """Begin one game anew."""
    clear(common, i)
    state.scores[i] = 0
    position, largest = common.streams[i], NONE
    a = b = c = d = NONE
    for fixed in looks.start:
        position += NEXT
        word = mixed(position)
        tile = fixed if fixed else drawn_tile(game, word)
        largest = max(largest, tile)
        cells = empty_cells(game, a, b, c, d)
        a, b, c, d = placed(a, b, c, d, one_of(game, cells, word), tile)
    common.streams[i] = position
    state.largest[i] = largest
    settle(looks, state, i, (a, b, c, d), transposed(a, b, c, d))


@compiled
def settle(looks: Looks, state: State, i: int, rows: Lines, columns: Lines) -> None:
    """Take over a game's board, and find its legal actions."""
    (a, b, c, d), (e, f, g, h), lines = rows, columns, state.lines
    lines[0, 0, i], lines[0, 1, i], lines[0, 2, i], lines[0, 3, i] = a, b, c, d
    lines[1, 0, i], lines[1, 1, i], lines[1, 2, i], lines[1, 3, i] = e, f, g, h
    of_row, of_column = looks.row_legal, looks.column_legal
    state.legal[i] = (
        of_row[a] | of_row[b] | of_row[c] | of_row[d]
        | of_column[e] | of_column[f] | of_column[g] | of_column[h]
    )  # fmt: skip


@compiled
def show(
    game: GameTables, looks: Looks, common: Common, state: State, shown: Shown, i: int
) -> None:
    """Write what is shown of one game."""
    for row in range(game.rows):
        line = Word(state.lines[0, row, i])
        pairs = line & LOW_PAIR | (line & HIGH_PAIR) << TO_PAIRS
        cells = pairs & EVEN_CELL | (pairs & ODD_CELL) << TO_BYTES
        if game.columns == MAX_SIDE:
            shown.rows[i, row] = cells
        else:
            shown.observations[i, row, 0] = cells
            shown.observations[i, row, 1] = cells >> BYTE
            if game.columns > 2:
                shown.observations[i, row, 2] = cells >> TWO_BYTES
    shown.masks[i] = Word(state.legal[i]) * FOUR_TIMES & LOWEST_BITS
    shown.scores[i] = state.scores[i]
    shown.max_tiles[i] = looks.faces[state.largest[i]]
    shown.illegal[i] = common.illegal[i]


class CompiledSlidingEngine(CompiledEngine[SlidingPositions], SlidingEngine):
    """Many sliding games, whose placer has a name, played by compiled code.

    Args:
        game: The game.
        terms: How it is played.
    """

    _loops = play_all, begin_all

    @property
    def _what(self) -> str:
        return f"the sliding games with placer={self._game.placer!r}"

    def _arrays(self) -> tuple[Any, ...]:
        tables = self._tables
        start = np.array(self._game.start.tiles, np.uint64)
        state = State(self._legal, self._scores, self._largest, self._lines)
        looks = Looks(tables.row_legal, tables.column_legal, self._faces, start)
        return *state, *game_tables(self._game), *looks

    def _room(self, n: int) -> tuple[NDArray[np.uint8], dict[str, NDArray[Any]]]:
        return np.empty((n, *self._game.shape), np.uint8), {
            "action_mask": np.empty((n, self._game.n_actions), np.int8),
            "score": np.empty(n, np.int64),
            "max_tile": np.empty(n, np.int64),
            "illegal": np.empty(n, np.bool_),
        }

    def _shown(self, outcome: Outcome) -> Shown:
        observations, infos = outcome.observations, outcome.infos
        wide = observations.shape[2] == MAX_SIDE
        return Shown(
            observations.view(np.uint32)[:, :, 0] if wide else NO_ROWS,
            observations,
            infos["action_mask"].view(np.uint32)[:, 0],
            infos["score"],
            infos["max_tile"],
            infos["illegal"],
        )

    def choose_legal(self, words: Words) -> Ints:
        """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
        return chosen_all(words, self._legal)
