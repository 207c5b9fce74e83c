"""Primitives for compiled loops over the lookup tables: slide, transpose, set a tile.

A board is four packed lines a, b, c, d (see `tables`), its rows or its columns.

This module imports numba, so the package imports it only once compiled loops are asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import brief
from tile_envs.base.compiled import compiled
from tile_envs.base.random_stream import Words
from tile_envs.base.stream_kernels import ONE, Word
from tile_envs.errors import UsageError
from tile_envs.sliding import spawn, tables
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed import checked_boards, pack
from tile_envs.sliding.placer import ADVERSARY, NAMED
from tile_envs.sliding.rules import LEFT, UP
from tile_envs.sliding.tables import (
    CELL_BITS,
    CELL_MASK,
    CELLS,
    EMPTY_MASK,
    EMPTY_SHIFT,
    LARGEST_SHIFT,
    LINE_MASK,
    PATTERN_ACTION_WEIGHT,
    PATTERN_WEIGHTS,
    REWARD_MASK,
    REWARD_SHIFT,
)

Lines = tuple[Word, Word, Word, Word]

ACTIONS_END = Word(LEFT + 1)
CELL, TWO_CELLS = Word(CELL_BITS), Word(2 * CELL_BITS)
LINE, EMPTY, REWARD = Word(LINE_MASK), Word(EMPTY_MASK), Word(REWARD_MASK)
TO_EMPTY, TO_REWARD, TO_LARGEST = Word(EMPTY_SHIFT), Word(REWARD_SHIFT), Word(LARGEST_SHIFT)
LOW_BLOCK, EVEN_CELLS = Word(tables.LOW_BLOCK), Word(tables.EVEN_CELLS)
PATTERN_ACTION = Word(PATTERN_ACTION_WEIGHT)
_, PATTERN_SECOND, PATTERN_THIRD, PATTERN_FOURTH = map(Word, PATTERN_WEIGHTS)
CELL_IN_LINE, ALL_CELLS = Word(CELL_MASK), Word(CELLS)
LOW_HALF = Word(spawn.LOW_HALF)


class GameTables(NamedTuple):
    """A sliding game as compiled loops take it: the tables of its rules and the new tiles.

    Attributes:
        pushed: `Tables.pushed`, unsigned.
        offsets: `Tables.offsets`, unsigned.
        empty_count: `Tables.empty_count`.
        empty_cell: `Tables.empty_cell`, unsigned.
        tiles: The tile indices that can appear.
        thresholds: Cumulative thresholds of these tiles in [0, 2**32], the last one included.
        probabilities: `float64`, their probabilities.
        rows: The number of rows of a board.
        columns: The number of columns.
        square: Whether the two numbers are equal.
        adversarial: True if the named adversary places the new tiles, None if they are placed
            uniformly.  The two are of different types, so that code is compiled for each.
    """

    pushed: Words
    offsets: Words
    empty_count: Words
    empty_cell: Words
    tiles: Words
    thresholds: Words
    probabilities: NDArray[np.float64]
    rows: int
    columns: int
    square: bool
    adversarial: bool | None


class Pushed(NamedTuple):
    """What a push makes of a board.

    Attributes:
        changed: Whether it is another board.
        a: The first of its lines, rows if they were rows.
        b: The second.
        c: The third.
        d: The fourth.
        reward: The reward.
        largest: The largest tile's index.
        pattern: The index of its empty cells in `empty_count` and `empty_cell`.
    """

    changed: bool
    a: Word
    b: Word
    c: Word
    d: Word
    reward: Word
    largest: Word
    pattern: Word


def game_tables(game: SlidingGame) -> GameTables:
    """Return a game for compiled loops.

    Raises:
        ValueError: If an object places its new tiles.
    """
    if not isinstance(game.placer, str):
        raise UsageError(
            f"compiled loops know the placers {', '.join(map(repr, NAMED))} only, "
            f"got {brief(game.placer)}."
        )
    of_rules, distribution = game.tables, game.distribution
    return GameTables(
        pushed=of_rules.pushed.view(np.uint64),
        offsets=of_rules.offsets.view(np.uint64),
        empty_count=of_rules.empty_count,
        empty_cell=of_rules.empty_cell.view(np.uint64),
        tiles=np.array(distribution.tiles, np.uint64),
        thresholds=np.array((*distribution.thresholds, LOW_HALF + ONE), np.uint64),
        probabilities=np.array(distribution.probabilities),
        rows=game.shape[0],
        columns=game.shape[1],
        square=game.shape[0] == game.shape[1],
        adversarial=True if game.placer == ADVERSARY else None,
    )


def rows_of(game: SlidingGame, boards: ArrayLike) -> Words:
    """Return the rows of boards, `(n, 4) uint64`.

    Raises:
        ValueError: If these are not boards of the game and shape.
    """
    checked = checked_boards(boards, game.rules)
    if checked.shape[1:] != game.shape:
        raise UsageError(f"boards must have shape {game.shape}, got {checked.shape[1:]}.")
    return np.ascontiguousarray(pack(checked)[0].T).view(np.uint64)


@compiled
def transposed(a: Word, b: Word, c: Word, d: Word) -> Lines:
    """Turn rows into columns, or columns into rows; see `tile_envs.sliding.packed.transpose`."""
    swap = (a >> TWO_CELLS ^ c) & LOW_BLOCK
    a, c = a ^ swap << TWO_CELLS, c ^ swap
    swap = (b >> TWO_CELLS ^ d) & LOW_BLOCK
    b, d = b ^ swap << TWO_CELLS, d ^ swap
    swap = (a >> CELL ^ b) & EVEN_CELLS
    a, b = a ^ swap << CELL, b ^ swap
    swap = (c >> CELL ^ d) & EVEN_CELLS
    return a, b, c ^ swap << CELL, d ^ swap


@compiled
def is_vertical(action: Word) -> bool:
    """Tell whether an action pushes columns: up and down are even, left and right odd."""
    return bool(action & ONE == Word(UP))


@compiled
def push(game: GameTables, action: Word, a: Word, b: Word, c: Word, d: Word) -> Pushed:
    """Push the lines of a board: rows for left and right, columns for up and down."""
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
    return Pushed(changed, p & LINE, q & LINE, r & LINE, s & LINE, reward, largest, pattern)


@compiled
def pushed_to(
    game: GameTables, action: Word, a: Word, b: Word, c: Word, d: Word, columns: Lines
) -> Pushed:
    """Push a board, given as its rows and its columns."""
    if is_vertical(action):
        return push(game, action, columns[0], columns[1], columns[2], columns[3])
    return push(game, action, a, b, c, d)


@compiled
def line_of(a: Word, b: Word, c: Word, d: Word, i: int) -> Word:
    """Return the i-th of four lines."""
    return a if i == 0 else b if i == 1 else c if i == 2 else d


@compiled
def placed(a: Word, b: Word, c: Word, d: Word, cell: Word, tile: Word) -> Lines:
    """Set a tile on an empty cell, given as in `empty_cell`."""
    line, bits = cell >> CELL, tile << (cell & CELL_IN_LINE)
    if line == Word(0):
        a |= bits
    elif line == Word(1):
        b |= bits
    elif line == Word(2):
        c |= bits
    else:
        d |= bits
    return a, b, c, d
