"""Many packed boards, played by compiled loops, one game after the other."""

from typing import Any

import numpy as np

from tile_envs.base.compiled import HALF, LOW_HALF, Word, compiled, next_word
from tile_envs.base.engine import Transition
from tile_envs.base.loops import Loops, loops, world_of
from tile_envs.sliding.compiled import drawn_tile, is_vertical, show_infos
from tile_envs.sliding.game import SlidingGame, State
from tile_envs.sliding.packed import kernels
from tile_envs.sliding.packed.tables import PACKED_SIDE
from tile_envs.sliding.rules import ACTIONS

NONE = Word(0)
BYTE, TWO_BYTES = Word(8), Word(16)
FOUR_BYTES = np.dtype(np.uint32)
NO_ROWS = np.empty((0, 0, 0), FOUR_BYTES)
# What spreads the cells of a line, 5 bits each, to a byte each: first in pairs, then one by one.
LOW_PAIR, HIGH_PAIR, TO_PAIRS = Word(0x003FF), Word(0xFFC00), Word(6)
EVEN_CELL, ODD_CELL, TO_BYTES = Word(0x001F001F), Word(0x03E003E0), Word(3)

SHOWN = "wide observations masks shown_scores max_tiles shown_illegal"
TABLES = "row_legal column_legal faces start listed threshold"
World: Any = world_of(__name__, SHOWN, State, " ".join((TABLES, *kernels.GameTables._fields)))
"""`wide` are observations of four columns, `(n, R, 1) uint32`, and masks a byte an action, `(n, 1)
uint32`.  Tables are parts of `Tables`; how games start, `Start.tiles`, the rows and the largest
tile of each board of `Start.listed`, `(m, 5)` or None, and its threshold; and the fields of
`GameTables`."""


@compiled
def tables_of(world: World) -> kernels.GameTables:
    """Return the part of a world that kernels take: they compile faster for it than for all."""
    return kernels.GameTables(
        world.pushed, world.offsets, world.empty_count, world.empty_cell, world.tiles,
        world.thresholds, world.rows, world.columns, world.adversarial, world.last_tile,
        world.last_leaves,
    )  # fmt: skip


@compiled
def play(world: World, i: int, action: Word) -> float:
    """Play a legal action in one game; return the reward."""
    axis = 1 if is_vertical(action) else 0
    boards = world.boards
    a, b = Word(boards[i, 0, axis]), Word(boards[i, 1, axis])
    c, d = Word(boards[i, 2, axis]), Word(boards[i, 3, axis])
    game = tables_of(world)
    after = kernels.push(game, action, a, b, c, d)
    word = next_word(world.streams, i)
    rows, columns = kernels.both_following(game, game.adversarial, action, after, word)
    settle(world, i, rows, columns, max(after.largest, drawn_tile(game, word)))
    world.scores[i] += np.int64(after.reward)
    return np.float64(after.reward)


@compiled
def begin(world: World, i: int) -> None:
    begin_by(world, world.listed, i)  # an argument: numba drops the branch on it if it is None


@compiled
def begin_by(world: World, listed: Any, i: int) -> None:
    world.scores[i] = 0
    a = b = c = d = largest = NONE
    tiles, game = world.start, tables_of(world)
    if listed is not None:
        word = next_word(world.streams, i)
        if word & LOW_HALF < Word(world.threshold):
            at = (word >> HALF) * Word(len(listed)) >> HALF
            a, b, c, d = listed[at, 0], listed[at, 1], listed[at, 2], listed[at, 3]
            largest = listed[at, 4]
            tiles = tiles[:0]
    for fixed in tiles:
        word = next_word(world.streams, i)
        tile = fixed if fixed else drawn_tile(game, word)
        largest = max(largest, tile)
        cells = kernels.empty_cells(game, a, b, c, d)
        a, b, c, d = kernels.placed(a, b, c, d, kernels.one_of(game, cells, word), tile)
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
    world.legal[i] = legal if largest < world.last_tile else 0
    world.largest[i] = largest


@compiled
def show(world: World, i: int) -> None:
    for row in range(world.rows):
        line = Word(world.boards[i, row, 0])
        pairs = line & LOW_PAIR | (line & HIGH_PAIR) << TO_PAIRS
        cells = pairs & EVEN_CELL | (pairs & ODD_CELL) << TO_BYTES
        if world.columns == PACKED_SIDE:
            world.wide[i, row, 0] = cells
        else:
            world.observations[i, row, 0] = cells
            world.observations[i, row, 1] = cells >> BYTE
            if world.columns > 2:
                world.observations[i, row, 2] = cells >> TWO_BYTES
    show_infos(world, i)


PLAY, BEGIN = loops(World, len(ACTIONS), begin, play, show)


def loops_of(game: SlidingGame) -> Loops:
    """Return the loops of a game whose placer has a name."""
    tables, start = game.tables, game.start
    listed = None
    if len(start.listed):
        largest = start.listed.max(axis=(1, 2)).astype(np.uint64)
        listed = np.column_stack((kernels.rows_of(game, start.listed), largest))
    looked_up = tables.row_legal, tables.column_legal, game.pairs.faces
    starts = np.array(start.tiles, np.uint64), listed, start.threshold
    return Loops(PLAY, BEGIN, _shown, tuple, (*looked_up, *starts, *kernels.game_tables(game)))


def _shown(transition: Transition) -> tuple[Any, ...]:
    observations, (masks, *infos) = transition.observations, transition.infos.values()
    wide = observations.shape[2] == PACKED_SIDE
    rows = observations.view(FOUR_BYTES) if wide else NO_ROWS
    return rows, observations, masks.view(FOUR_BYTES), *infos
