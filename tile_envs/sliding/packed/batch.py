"""Many packed boards at once, by numpy: how games begin, and what follows their moves.

In public a board is `uint8` tile indices, `(R, C)`; inside, it is its rows and its columns as
packed lines (see `tables`), both kept, so that a push and the legal actions are lookups.  In a
`State` lines are `(n, 4, 2)`, in memory and in here `(2, 4, n)`: every operation runs over
neighboring games.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.random_stream import Words, choose
from tile_envs.game import Ints
from tile_envs.sliding.chance import RANDOM, Start, answers, one_of
from tile_envs.sliding.packed import tables
from tile_envs.sliding.packed.tables import PACKED_SIDE, Lines, Tables
from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, RIGHT, UP, VERTICAL

Boards = NDArray[np.uint8]

# Numbers as 0-d arrays: see `random_stream`.
_ONE_CELL, _TWO_CELLS = np.array(tables.CELL_BITS), np.array(2 * tables.CELL_BITS)
_LOW_BLOCK, _EVEN_CELLS = np.array(tables.LOW_BLOCK), np.array(tables.EVEN_CELLS)
_CELLS, _ALL_TILES = np.array(tables.CELLS), np.array(tables.CELL_MASK + 1)
_LINE_MASK, _LARGEST_SHIFT = np.array(tables.LINE_MASK), np.array(tables.LARGEST_SHIFT)
_EMPTY_SHIFT, _EMPTY_MASK = np.array(tables.EMPTY_SHIFT), np.array(tables.EMPTY_MASK)
_REWARD_SHIFT, _REWARD_MASK = np.array(tables.REWARD_SHIFT), np.array(tables.REWARD_MASK)
_PATTERN_WEIGHTS = np.array(tables.PATTERN_WEIGHTS)[:, None]
_PATTERNS = tables.PATTERN_ACTION_WEIGHT * np.arange(len(ACTIONS))

_PLACES = tables.CELL_BITS * np.arange(PACKED_SIDE)[:, None]
"""`(4, 1)`: the shift of each cell of a line."""
_ANY_TILE = tables.CELL_MASK << _PLACES
_VERTICAL = np.array([-(action in VERTICAL) for action in range(len(ACTIONS))])
"""By action: all ones where columns move, else 0."""

lookup_of = tables.compile_tables


def pack(boards: Boards) -> Lines:
    """Pack boards `(n, R, C)` into rows and columns, `(2, 4, n)`."""
    # Lines of 20 bits are exact as `float32`, whose products are many times faster.
    n, *shape = boards.shape
    cells = boards.reshape(n, math.prod(shape)).T.astype(np.float32)
    lines: Lines = (_weights(*shape) @ cells).astype(np.int64)
    return lines.reshape(2, PACKED_SIDE, n)


@cache
def _weights(n_rows: int, n_columns: int) -> NDArray[np.float32]:
    """Return the weight of each cell in each row and each column, `(8, cells)`."""
    weights = np.zeros((2, PACKED_SIDE, n_rows, n_columns), np.float32)
    for row, column in np.ndindex(n_rows, n_columns):
        weights[0, row, row, column] = 1 << column * tables.CELL_BITS
        weights[1, column, row, column] = 1 << row * tables.CELL_BITS
    return weights.reshape(2 * PACKED_SIDE, -1)


def transpose(lines: Lines, out: Lines | None = None) -> Lines:
    """Turn rows `(4, n)` into columns, or columns into rows."""
    turned = np.empty_like(lines) if out is None else out
    np.copyto(turned, lines)
    for upper, lower, shift, mask in (
        (turned[:2], turned[2:], _TWO_CELLS, _LOW_BLOCK),
        (turned[::2], turned[1::2], _ONE_CELL, _EVEN_CELLS),
    ):
        swap = upper >> shift
        swap ^= lower
        swap &= mask
        lower ^= swap
        swap <<= shift
        upper ^= swap
    return turned


def hold(boards: Boards) -> Lines:
    """Pack boards `(n, R, C)` into rows and columns, `(n, 4, 2)`."""
    return pack(boards).T


def legal(lookup: Tables, held: Lines) -> Ints:
    """Return the legal actions, as bits `(n,)`."""
    lines = held.T
    by_line = lookup.row_legal.take(lines[0]) | lookup.column_legal.take(lines[1])
    actions: Ints = np.bitwise_or.reduce(by_line).astype(np.int64)
    return actions


def tiles(lookup: Tables, held: Lines) -> Boards:
    """Return fresh boards `(n, R, C)`."""
    return unpack(lookup, held[:, :, 0])


def unpack(lookup: Tables, rows: Lines) -> Boards:
    """Unpack rows `(n, 4)` into fresh boards `(n, R, C)`."""
    n_rows, n_columns = lookup.shape
    boards = lookup.cells.take(rows).view(np.uint8).reshape(-1, PACKED_SIDE, PACKED_SIDE)
    return np.ascontiguousarray(boards[:, :n_rows, :n_columns])


def draw(start: Start, streams: Words) -> tuple[Lines, Ints, Words]:
    """Draw start boards; return them, their largest tiles, and the streams afterwards."""
    if len(start.listed):
        boards, streams = start.boards(streams)
        return hold(boards), boards.max(axis=(1, 2), initial=0).astype(np.int64), streams
    # Faster than by boards, and games begin all the time.
    cells, drawn, streams = start.draws(streams)
    lines = np.add.reduce(_lines_of_tiles(start.shape).take(cells * _ALL_TILES + drawn, axis=0))
    return lines, np.maximum.reduce(drawn), streams


def follow(
    lookup: Tables, placer: Any, held: Lines, actions: Ints, drawn: Ints, words: Words
) -> tuple[Lines, Ints, Ints]:
    """Push boards, and let tiles appear, 0 for none; return boards, rewards, largest tiles."""
    rows, columns = held.T
    # `vertical` is all ones where columns move: bit by bit, x ^ ((x ^ y) & vertical) picks y.
    vertical = _VERTICAL.take(actions)
    lines = rows ^ columns
    lines &= vertical
    lines ^= rows
    lines += lookup.offsets.take(actions)
    pushed = lookup.pushed.take(lines)
    after = np.empty((2, PACKED_SIDE, len(actions)), np.int64)
    moved, turned = after
    np.bitwise_and(pushed, _LINE_MASK, moved)
    transpose(moved, turned)
    swap = moved ^ turned
    swap &= vertical
    after ^= swap
    if placer == RANDOM:
        empty = pushed >> _EMPTY_SHIFT
        empty &= _EMPTY_MASK
        empty *= _PATTERN_WEIGHTS
        pattern = np.add.reduce(empty) + _PATTERNS.take(actions)
        k = choose(words, lookup.empty_count.take(pattern)).view(np.int64)
        cell = lookup.empty_number.take(pattern * _CELLS + k)
        after += _lines_of_tiles(lookup.shape).take(cell * _ALL_TILES + drawn, axis=0).T
    else:
        place(placer, lookup, after, drawn, words)
    rewards: Ints = np.add.reduce(pushed) >> _REWARD_SHIFT & _REWARD_MASK
    largest = np.maximum(np.maximum.reduce(pushed) >> _LARGEST_SHIFT, drawn)
    return after.T, rewards, largest


def place(placer: Any, lookup: Tables, lines: Lines, tiles: Ints, words: Words) -> None:
    """Set new tiles on afterstates, in place, as a placer other than chance decides.

    `lines` are packed afterstates `(2, 4, n)`, unchanged if the placer fails, `tiles` their new
    tiles `(n,)`, 0 where none appears, and `words` their random words `(n,)`.
    """
    if isinstance(placer, str):
        cells = one_of(worst_cells(lookup, lines, tiles), words)
    else:
        cells = answers(placer, unpack(lookup, lines[0].T), tiles)
    rows, columns = np.divmod(cells, lookup.shape[1])
    every = np.arange(len(tiles))
    lines[0, rows, every] |= tiles << columns * tables.CELL_BITS
    lines[1, columns, every] |= tiles << rows * tables.CELL_BITS


def worst_cells(lookup: Tables, lines: Lines, tiles: Ints) -> NDArray[np.bool_]:
    """Return the cells that are worst for the player, `(R * C, n)`, of packed `(2, 4, n)`."""
    # A new tile changes one row and one column, so the value of a push is that of the other lines
    # plus that of the line with the tile.  An illegal push may count, too: it leaves no more cells
    # empty than a legal one and pays nothing.  So may a board without a legal move: it is full, and
    # had a single empty cell.
    n_rows, n_columns = lookup.shape
    rows, columns = lines[0, :n_rows, None], lines[1, None, :n_columns]
    in_place = tiles << _PLACES
    in_rows, in_columns = rows | in_place[:n_columns], columns | in_place[:n_rows, None]
    values = _values(lookup, LEFT, rows, in_rows)
    np.maximum(values, _values(lookup, RIGHT, rows, in_rows), out=values)
    np.maximum(values, _values(lookup, UP, columns, in_columns), out=values)
    np.maximum(values, _values(lookup, DOWN, columns, in_columns), out=values)
    empty = (rows & _ANY_TILE[:n_columns]) == 0
    np.copyto(values, np.iinfo(values.dtype).max, where=~empty)
    worst: NDArray[np.bool_] = (values == values.min(axis=(0, 1))) & empty
    return worst.reshape(n_rows * n_columns, len(tiles))


def _values(lookup: Tables, action: int, lines: Lines, with_tile: Lines) -> NDArray[Any]:
    """Return the values of a push by the cell of the new tile, `(R, C, n)`.

    It pushes `lines`, `(R, 1, n)` rows or `(1, C, n)` columns; `with_tile` `(R, C, n)` is the line
    of each cell with the new tile on that cell.
    """
    gains = lookup.gains[lookup.offsets[action] :]
    before, values = gains.take(lines), gains.take(with_tile)
    values += before.sum(axis=(0, 1), dtype=gains.dtype) - before
    return values


def afterstates(lookup: Tables, boards: Boards) -> tuple[Boards, Ints, NDArray[np.intp]]:
    """Return what `tile_envs.sliding.boards.afterstates` does, the legal actions as bits."""
    rows, columns = lines = pack(boards)
    after = np.empty((len(boards), len(ACTIONS), *boards.shape[1:]), np.uint8)
    rewards = np.empty((len(boards), len(ACTIONS)), np.int64)
    for action in (UP, RIGHT, DOWN, LEFT):
        horizontal = action in (LEFT, RIGHT)
        pushed = lookup.pushed.take((rows if horizontal else columns) + lookup.offsets[action])
        moved = pushed & _LINE_MASK
        after[:, action] = unpack(lookup, (moved if horizontal else transpose(moved)).T)
        rewards[:, action] = pushed.sum(axis=0) >> _REWARD_SHIFT & _REWARD_MASK
    return after, rewards, legal(lookup, lines.T)


@cache
def _lines_of_tiles(shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return the lines of boards with one tile, by `cell * 32 + tile`, `(cells * 32, 4, 2)`."""
    cells = math.prod(shape)
    boards = np.zeros((cells, tables.CELL_MASK + 1, cells), np.uint8)
    boards[np.arange(cells), :, np.arange(cells)] = np.arange(tables.CELL_MASK + 1)
    return np.ascontiguousarray(hold(boards.reshape(-1, *shape)))
