"""Many packed boards, played by compiled loops, one game after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.compiled import HALF, NEXT, ONE, Word, compiled, compiled_loop, mixed
from tile_envs.base.compiled_episodes import Code, all_inside, begun, clear, finish, world_of
from tile_envs.base.episodes import Outcome
from tile_envs.base.random_stream import Words
from tile_envs.game import Ints
from tile_envs.sliding.compiled import LOW_HALF, choose, drawn_tile, is_vertical, show_infos
from tile_envs.sliding.game import SlidingGame, State
from tile_envs.sliding.packed import kernels
from tile_envs.sliding.packed.tables import PACKED_SIDE

NONE = Word(0)
BYTE, TWO_BYTES = Word(8), Word(16)
FOUR_BYTES = np.dtype(np.uint32)
NO_ROWS = np.empty((0, 0, 0), FOUR_BYTES)
# What spreads the cells of a line, 5 bits each, to a byte each: first in pairs, then one by one.
LOW_PAIR, HIGH_PAIR, TO_PAIRS = Word(0x003FF), Word(0xFFC00), Word(6)
EVEN_CELL, ODD_CELL, TO_BYTES = Word(0x001F001F), Word(0x03E003E0), Word(3)

SHOWN = "rows observations masks shown_scores max_tiles shown_illegal"
LOOKUP = "row_legal column_legal faces start listed threshold tables"
World: Any = world_of(__name__, SHOWN, State, LOOKUP)
"""Rows are observations of four columns, `(n, R, 1) uint32`, and masks a byte an action, `(n, 1)
uint32`.  Looked up are parts of `Tables`; how games start, `Start.tiles`, the rows and the largest
tile of each board of `Start.listed` `(m, 5)` or None, and its threshold; and `GameTables`, whose
fields a loop takes one by one."""
TABLES = len(World._fields) - 1


@compiled_loop
def play_all(first: int, end: int, actions: Ints, *arrays: Any) -> bool:
    world = World(*arrays[:TABLES], kernels.GameTables(*arrays[TABLES:]))
    if not all_inside(first, end, actions, 4):
        return False
    for i in range(Word(first), Word(end)):
        if world.over[i]:
            begin(world, world.listed, i)
            begun(world, i)
        else:
            action, reward = Word(actions[i]), 0.0
            legal = bool(Word(world.legal[i]) >> action & ONE)
            if legal:
                reward = play(world, i, action)
            finish(world, i, reward, legal, world.legal[i] == 0)
        show(world, i)
    return True


@compiled_loop
def begin_all(games: Ints, *arrays: Any) -> None:
    world = World(*arrays[:TABLES], kernels.GameTables(*arrays[TABLES:]))
    for i in games:
        begin(world, world.listed, i)
        show(world, i)


@compiled
def play(world: World, i: int, action: Word) -> float:
    """Play a legal action in one game; return the reward."""
    axis = 1 if is_vertical(action) else 0
    boards, tables = world.boards, world.tables
    a, b = Word(boards[i, 0, axis]), Word(boards[i, 1, axis])
    c, d = Word(boards[i, 2, axis]), Word(boards[i, 3, axis])
    after = kernels.push(tables, action, a, b, c, d)
    position = world.streams[i] + NEXT
    world.streams[i] = position
    word = mixed(position)
    rows, columns = kernels.both_following(tables, tables.adversarial, action, after, word)
    settle(world, i, rows, columns, max(after.largest, drawn_tile(tables, word)))
    world.scores[i] += np.int64(after.reward)
    return np.float64(after.reward)


@compiled
def begin(world: World, listed: Words | None, i: int) -> None:
    """Begin one game anew; as an argument of its own, no `listed` leaves out what needs it."""
    clear(world, i)
    world.scores[i] = 0
    position, largest = world.streams[i], NONE
    a = b = c = d = NONE
    tiles = world.start
    if listed is not None:
        position += NEXT
        word = mixed(position)
        if word & LOW_HALF < Word(world.threshold):
            at = (word >> HALF) * Word(len(listed)) >> HALF
            a, b, c, d = listed[at, 0], listed[at, 1], listed[at, 2], listed[at, 3]
            largest = listed[at, 4]
            tiles = tiles[:0]
    for fixed in tiles:
        position += NEXT
        word = mixed(position)
        tile = fixed if fixed else drawn_tile(world.tables, word)
        largest = max(largest, tile)
        cells = kernels.empty_cells(world.tables, a, b, c, d)
        a, b, c, d = kernels.placed(a, b, c, d, kernels.one_of(world.tables, cells, word), tile)
    world.streams[i] = position
    settle(world, i, (a, b, c, d), kernels.transposed(a, b, c, d), largest)


@compiled
def settle(
    world: World, i: int, rows: kernels.Lines, columns: kernels.Lines, largest: Word
) -> None:
    """Take over a game's board, and find its legal actions."""
    (a, b, c, d), (e, f, g, h), lines = rows, columns, world.boards
    lines[i, 0, 0], lines[i, 1, 0], lines[i, 2, 0], lines[i, 3, 0] = a, b, c, d
    lines[i, 0, 1], lines[i, 1, 1], lines[i, 2, 1], lines[i, 3, 1] = e, f, g, h
    of_row, of_column = world.row_legal, world.column_legal
    legal = (
        of_row[a] | of_row[b] | of_row[c] | of_row[d]
        | of_column[e] | of_column[f] | of_column[g] | of_column[h]
    )  # fmt: skip
    world.legal[i] = legal if largest < world.tables.last_tile else 0
    world.largest[i] = largest


@compiled
def show(world: World, i: int) -> None:
    for row in range(world.tables.rows):
        line = Word(world.boards[i, row, 0])
        pairs = line & LOW_PAIR | (line & HIGH_PAIR) << TO_PAIRS
        cells = pairs & EVEN_CELL | (pairs & ODD_CELL) << TO_BYTES
        if world.tables.columns == PACKED_SIDE:
            world.rows[i, row, 0] = cells
        else:
            world.observations[i, row, 0] = cells
            world.observations[i, row, 1] = cells >> BYTE
            if world.tables.columns > 2:
                world.observations[i, row, 2] = cells >> TWO_BYTES
    show_infos(world, i)


def code(game: SlidingGame) -> Code:
    """Return the loops of a game, and what they take besides its games."""
    tables, start = game.tables, game.start
    listed = None
    if len(start.listed):
        rows = kernels.rows_of(game, start.listed)
        listed = np.column_stack((rows, start.listed.max(axis=(1, 2))))
    looked_up = tables.row_legal, tables.column_legal, game.pairs.faces
    starts = np.array(start.tiles, np.uint64), listed, start.threshold
    lookup = *looked_up, *starts, *kernels.game_tables(game)
    return Code(play_all, begin_all, choose, "legal", _shown, tuple, lookup)


def _shown(outcome: Outcome) -> tuple[NDArray[Any], ...]:
    observations, (masks, *infos) = outcome.observations, outcome.infos.values()
    wide = observations.shape[2] == PACKED_SIDE
    rows = observations.view(FOUR_BYTES) if wide else NO_ROWS
    return rows, observations, masks.view(FOUR_BYTES), *infos
