"""Primitives for compiled loops over the lookup tables: slide, transpose, let a tile appear.

A board is four packed lines a, b, c, d (see `tables`), its rows or its columns.

This module imports numba, so the package imports it only once compiled loops are asked for.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tile_envs.base.checks import brief, listed
from tile_envs.base.compiled import HALF, ONE, Word, compiled
from tile_envs.base.random_stream import Words
from tile_envs.errors import UsageError
from tile_envs.sliding.chance import ADVERSARY, NAMED
from tile_envs.sliding.compiled import drawn_tile, is_vertical, member, spawn_tables
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed import tables as packing
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, UP

Lines = tuple[Word, Word, Word, Word]

CELL, TWO_CELLS = Word(packing.CELL_BITS), Word(2 * packing.CELL_BITS)
LINE, LINE_BITS = Word(packing.LINE_MASK), Word(packing.LINE_BITS)
REWARD, TO_REWARD = Word(packing.REWARD_MASK), Word(packing.REWARD_SHIFT)
EMPTY, TO_EMPTY = Word(packing.EMPTY_MASK), Word(packing.EMPTY_SHIFT)
TO_LARGEST = Word(packing.LARGEST_SHIFT)
LOW_BLOCK, EVEN_CELLS = Word(packing.LOW_BLOCK), Word(packing.EVEN_CELLS)
PATTERN_ACTION = Word(packing.PATTERN_ACTION_WEIGHT)
_, PATTERN_SECOND, PATTERN_THIRD, PATTERN_FOURTH = map(Word, packing.PATTERN_WEIGHTS)
CELL_IN_LINE, ALL_CELLS = Word(packing.CELL_MASK), Word(packing.CELLS)
# Words, all of one type: numba would compile `gain` anew for each literal number.
TO_UP, TO_RIGHT, TO_DOWN, TO_LEFT = map(Word, (UP, RIGHT, DOWN, LEFT))


class GameTables(NamedTuple):
    """A sliding game as compiled loops take it: the tables of its rules and the new tiles."""

    pushed: Words  # as in `Tables`, but unsigned; so are the next three
    offsets: Words
    empty_count: Words
    empty_cell: Words
    tiles: Words  # the tile indices that can appear
    thresholds: Words  # cumulative ones of these tiles in [0, 2**32], the last one included
    rows: int  # of a board
    columns: int
    # True if the named adversary places the new tiles, None if they are placed uniformly: two
    # types, so that code is compiled for each.
    adversarial: bool | None
    last_tile: Word  # a board with a tile of this index or more has no legal action
    last_leaves: Word  # the least index of the largest tile after a push of such a board


class Pushed(NamedTuple):
    """What a push makes of a board."""

    changed: bool  # whether the push is legal
    lines: Lines  # rows if they were rows
    reward: Word
    largest: Word  # the largest tile's index
    pattern: Word  # the index of its empty cells in `empty_count` and `empty_cell`


def game_tables(game: SlidingGame) -> GameTables:
    """Return a game for compiled loops; it is refused if an object places its new tiles."""
    if not isinstance(game.placer, str):
        known, found = listed(NAMED), brief(game.placer)
        raise UsageError(f"compiled loops know the placers {known}, got {found}.")
    tables, last = game.tables, game.last_tile
    shrunk = [after for *merged, after in game.rules.merges if max(merged) >= last]
    return GameTables(
        tables.pushed.view(np.uint64),
        tables.offsets.view(np.uint64),
        tables.empty_count,
        tables.empty_cell.view(np.uint64),
        *spawn_tables(game),
        *game.shape,
        adversarial=True if game.placer == ADVERSARY else None,
        last_tile=Word(last),
        last_leaves=Word(min([last, *shrunk])),
    )


def rows_of(game: SlidingGame, boards: ArrayLike) -> Words:
    """Return the rows of boards of the game and shape, `(n, 4) uint64`."""
    checked = game.rules.checked_boards(boards)
    if checked.shape[1:] != game.shape:
        raise UsageError(f"boards must have shape {game.shape}, got {checked.shape[1:]}.")
    return np.ascontiguousarray(game.layout.pack(checked)[:, :, 0]).view(np.uint64)


@compiled
def transposed(a: Word, b: Word, c: Word, d: Word) -> Lines:
    """Turn rows into columns, or columns into rows; see `packed.batch.transpose`."""
    swap = (a >> TWO_CELLS ^ c) & LOW_BLOCK
    a, c = a ^ swap << TWO_CELLS, c ^ swap
    swap = (b >> TWO_CELLS ^ d) & LOW_BLOCK
    b, d = b ^ swap << TWO_CELLS, d ^ swap
    swap = (a >> CELL ^ b) & EVEN_CELLS
    a, b = a ^ swap << CELL, b ^ swap
    swap = (c >> CELL ^ d) & EVEN_CELLS
    return a, b, c ^ swap << CELL, d ^ swap


@compiled
def push(game: GameTables, action: Word, a: Word, b: Word, c: Word, d: Word) -> Pushed:
    """Push the lines of a board, rows for left and right, columns for up and down.

    Each takes one lookup; `tables` draws an entry and a pattern.
    """
    offset = game.offsets[action]
    p, q = game.pushed[offset + a], game.pushed[offset + b]
    r, s = game.pushed[offset + c], game.pushed[offset + d]
    pattern = (
        action * PATTERN_ACTION
        + (p >> TO_EMPTY & EMPTY)
        + (q >> TO_EMPTY & EMPTY) * PATTERN_SECOND
        + (r >> TO_EMPTY & EMPTY) * PATTERN_THIRD
        + (s >> TO_EMPTY & EMPTY) * PATTERN_FOURTH
    )
    changed = (p & LINE) != a or (q & LINE) != b or (r & LINE) != c or (s & LINE) != d
    reward = p + q + r + s >> TO_REWARD & REWARD
    largest = max(max(p, q), max(r, s)) >> TO_LARGEST
    if largest >= game.last_leaves:
        for shift in range(Word(0), LINE_BITS, CELL):
            beside = max(a >> shift & CELL_IN_LINE, b >> shift & CELL_IN_LINE)
            below = max(c >> shift & CELL_IN_LINE, d >> shift & CELL_IN_LINE)
            changed &= max(beside, below) < game.last_tile
    return Pushed(changed, (p & LINE, q & LINE, r & LINE, s & LINE), reward, largest, pattern)


@compiled
def line_of(a: Word, b: Word, c: Word, d: Word, i: int) -> Word:
    return a if i == 0 else b if i == 1 else c if i == 2 else d


@compiled
def placed(a: Word, b: Word, c: Word, d: Word, cell: Word, tile: Word) -> Lines:
    """Set a tile on an empty cell, given as in `empty_cell`."""
    line, bits = cell >> CELL, tile << (cell & CELL_IN_LINE)
    a, b = a | bits * Word(line == Word(0)), b | bits * Word(line == Word(1))
    return a, b, c | bits * Word(line == Word(2)), d | bits * Word(line == Word(3))


@compiled
def both_following(
    game: GameTables, adversarial: bool | None, action: Word, after: Pushed, word: Word
) -> tuple[Lines, Lines]:
    """Return the rows and the columns of the state that follows a push, by a random word."""
    # As an argument of its own, `adversarial` has numba leave out the branch that is never taken:
    # `worst_cells` takes half a second to compile.
    lines, tile, vertical = after.lines, drawn_tile(game, word), is_vertical(action)
    if adversarial is None:
        k = (word >> HALF) * game.empty_count[after.pattern] >> HALF
        cell = game.empty_cell[after.pattern * ALL_CELLS + k]
        lines = placed(*lines, cell, tile)
        turned = transposed(*lines)
        return (turned, lines) if vertical else (lines, turned)
    rows = transposed(*lines) if vertical else lines
    rows = placed(*rows, one_of(game, worst_cells(game, *rows, tile), word), tile)
    return rows, transposed(*rows)


@compiled
def one_of(game: GameTables, cells: Word, word: Word) -> Word:
    """Choose one of a set of cells by a random word, and return it as `placed` takes it."""
    row, column = divmod(member(cells, word), Word(game.columns))
    return row << CELL | column * CELL


@compiled
def empty_cells(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return the empty cells of a board, as `worst_cells` does."""
    cells, bit = Word(0), ONE
    for i in range(game.rows):
        row = line_of(a, b, c, d, i)
        for j in range(game.columns):
            if not row >> Word(j) * CELL & CELL_IN_LINE:
                cells |= bit
            bit <<= ONE
    return cells


@compiled
def worst_cells(game: GameTables, a: Word, b: Word, c: Word, d: Word, tile: Word) -> Word:
    """Return where the named adversary may place a tile on an afterstate, whatever the placer.

    These are the worst cells for the player (see `tile_envs.sliding.chance`), as bits
    `1 << row * columns + column`; 0 if no cell is empty.
    """
    e, f, g, h = transposed(a, b, c, d)
    up = down = right = left = Word(0)
    for i in range(game.rows):
        row = line_of(a, b, c, d, i)
        right, left = right + gain(game, TO_RIGHT, row), left + gain(game, TO_LEFT, row)
    for j in range(game.columns):
        column = line_of(e, f, g, h, j)
        up, down = up + gain(game, TO_UP, column), down + gain(game, TO_DOWN, column)
    worst, lowest, bit = Word(0), ~Word(0), ONE
    for i in range(game.rows):
        row = line_of(a, b, c, d, i)
        other_right, other_left = right - gain(game, TO_RIGHT, row), left - gain(game, TO_LEFT, row)
        for j in range(game.columns):
            shift = Word(j) * CELL
            if not row >> shift & CELL_IN_LINE:
                column = line_of(e, f, g, h, j)
                in_row, in_column = row | tile << shift, column | tile << Word(i) * CELL
                to_up = up - gain(game, TO_UP, column) + gain(game, TO_UP, in_column)
                to_down = down - gain(game, TO_DOWN, column) + gain(game, TO_DOWN, in_column)
                to_right = other_right + gain(game, TO_RIGHT, in_row)
                to_left = other_left + gain(game, TO_LEFT, in_row)
                value = max(max(to_up, to_down), max(to_right, to_left))
                if value < lowest:
                    worst, lowest = Word(0), value
                if value == lowest:
                    worst |= bit
            bit <<= ONE
    return worst


@compiled
def gain(game: GameTables, action: Word, line: Word) -> Word:
    """Return what a line adds to the value of a push: its reward and the cells it leaves empty."""
    pushed: Word = game.pushed[game.offsets[action] + line]
    return (pushed >> TO_EMPTY & EMPTY) + (pushed >> TO_REWARD & REWARD)
