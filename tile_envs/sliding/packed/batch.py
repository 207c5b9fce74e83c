"""Many packed boards at once, by numpy: how games begin, and what follows their moves.

In public a board is `uint8` tile indices, `(R, C)`; inside, it is its rows and its columns as
packed lines (see `tables`), both kept, so that a push and the legal actions are lookups.  In a
`State` lines are `(n, 4, 2)`, in memory and in here `(2, 4, n)`: every operation runs over
neighboring games.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.random_stream import Words, choose
from tile_envs.game import Bools, Ints
from tile_envs.sliding.chance import RANDOM, Start, answers, one_of
from tile_envs.sliding.packed import tables
from tile_envs.sliding.packed.tables import CELL_BITS, PACKED_SIDE, Lines, Tables
from tile_envs.sliding.rules import ACTIONS, VERTICAL, Boards, Rules

# Numbers as 0-d arrays: see `random_stream`.
_ONE_CELL, _TWO_CELLS = np.array(CELL_BITS), np.array(2 * CELL_BITS)
_LOW_BLOCK, _EVEN_CELLS = np.array(tables.LOW_BLOCK), np.array(tables.EVEN_CELLS)
_CELLS, _TILES_END = np.array(tables.CELLS), np.array(tables.CELL_MASK + 1)
_LINE_MASK, _LARGEST_SHIFT = np.array(tables.LINE_MASK), np.array(tables.LARGEST_SHIFT)
_EMPTY_SHIFT, _EMPTY_MASK = np.array(tables.EMPTY_SHIFT), np.array(tables.EMPTY_MASK)
_REWARD_SHIFT, _REWARD_MASK = np.array(tables.REWARD_SHIFT), np.array(tables.REWARD_MASK)
_PATTERN_WEIGHTS = np.array(tables.PATTERN_WEIGHTS)[:, None]
_PATTERNS = tables.PATTERN_ACTION_WEIGHT * np.arange(len(ACTIONS))

_PLACES = CELL_BITS * np.arange(PACKED_SIDE)[:, None]  # the shift of each cell of a line
_VERTICAL = np.array([-(action in VERTICAL) for action in range(len(ACTIONS))])


class PackedLayout:
    """Boards of one game and shape as packed lines, `(n, 4, 2)` rows and columns."""

    loops = "tile_envs.sliding.packed.compiled"

    def __init__(self, rules: Rules, shape: tuple[int, int]) -> None:
        self.tables = tables.compile_tables(rules, shape)
        # The weight of each cell in each row and each column, `(8, cells)`.
        weights = np.zeros((2, PACKED_SIDE, *shape), np.float32)
        for row, column in np.ndindex(*shape):
            weights[0, row, row, column] = 1 << column * CELL_BITS
            weights[1, column, row, column] = 1 << row * CELL_BITS
        self._weights = weights.reshape(2 * PACKED_SIDE, -1)

    def pack(self, boards: Boards) -> NDArray[Any]:
        """Pack boards `(n, R, C)`."""
        # Lines of 20 bits are exact as `float32`, whose products are many times faster.
        n = len(boards)
        cells = boards.reshape(n, self._weights.shape[1]).T.astype(np.float32)
        lines: Lines = (self._weights @ cells).astype(np.int64)
        return lines.reshape(2, PACKED_SIDE, n).T

    def tiles(self, lines: Lines) -> Boards:
        """Return fresh boards `(n, R, C)`."""
        return unpack(self.tables, lines[:, :, 0])

    def legal(self, lines: Lines) -> Ints:
        """Return the legal actions, as bits `(n,)`."""
        rows, columns = lines.T
        by_line = self.tables.row_legal.take(rows) | self.tables.column_legal.take(columns)
        actions: Ints = np.bitwise_or.reduce(by_line).astype(np.int64)
        return actions

    def draw(self, start: Start, streams: Words) -> tuple[NDArray[Any], Ints, Words]:
        """Draw start boards; return them, their largest tiles, and the streams afterwards."""
        if len(start.listed):
            boards, streams = start.boards(streams)
            return self.pack(boards), boards.max(axis=(1, 2), initial=0).astype(np.int64), streams
        # Faster than by boards, and games begin all the time.
        cells, drawn, streams = start.draws(streams)
        lines = np.add.reduce(self._tile_lines.take(cells * _TILES_END + drawn, axis=0))
        return lines, np.maximum.reduce(drawn), streams

    @cached_property
    def _tile_lines(self) -> Lines:
        """The lines of boards with one tile, by `cell * 32 + tile`, `(cells * 32, 4, 2)`."""
        shape, tiles = self.tables.shape, tables.CELL_MASK + 1
        cells = np.arange(math.prod(shape))
        boards = np.zeros((len(cells), tiles, len(cells)), np.uint8)
        boards[cells, :, cells] = np.arange(tiles)
        return np.ascontiguousarray(self.pack(boards.reshape(-1, *shape)))

    def follow(
        self, placer: Any, lines: Lines, actions: Ints, drawn: Ints, words: Words
    ) -> tuple[NDArray[Any], Ints, Ints]:
        """Push boards, and let tiles appear, 0 for none; return boards, rewards, largest tiles."""
        rows, columns = lines.T
        # `vertical` is all ones where columns move, else 0; x ^ ((x ^ y) & vertical) picks y or x:
        #     0110 ^ ((0110 ^ 1010) & 1111) = 1010      0110 ^ ((0110 ^ 1010) & 0000) = 0110
        vertical, table = _VERTICAL.take(actions), self.tables
        moving = rows ^ columns
        moving &= vertical
        moving ^= rows
        moving += table.offsets.take(actions)
        pushed = table.pushed.take(moving)
        after = np.empty((2, PACKED_SIDE, len(actions)), np.int64)
        moved, turned = after
        np.bitwise_and(pushed, _LINE_MASK, moved)
        transpose(moved, turned)
        swap = moved ^ turned
        swap &= vertical
        after ^= swap  # where columns have moved, `turned` are the rows
        if placer == RANDOM:
            empty = pushed >> _EMPTY_SHIFT
            empty &= _EMPTY_MASK
            empty *= _PATTERN_WEIGHTS
            pattern = np.add.reduce(empty) + _PATTERNS.take(actions)
            k = choose(words, table.empty_count.take(pattern)).view(np.int64)
            cells = table.empty_number.take(pattern * _CELLS + k)
        elif isinstance(placer, str):
            cells = one_of(worst_cells(table, after, drawn), words)
        else:
            cells = answers(placer, unpack(table, after[0].T), drawn)
        after += self._tile_lines.take(cells * _TILES_END + drawn, axis=0).T
        rewards: Ints = np.add.reduce(pushed) >> _REWARD_SHIFT & _REWARD_MASK
        largest = np.maximum(np.maximum.reduce(pushed) >> _LARGEST_SHIFT, drawn)
        return after.T, rewards, largest

    def afterstates(self, boards: Boards) -> tuple[Boards, Ints, Ints]:
        """Return what `tile_envs.sliding.afterstates` does, the legal actions as bits."""
        lines = self.pack(boards)
        rows, columns = lines.T
        after = np.empty((len(boards), len(ACTIONS), *boards.shape[1:]), np.uint8)
        rewards = np.empty((len(boards), len(ACTIONS)), np.int64)
        for action in range(len(ACTIONS)):
            vertical = action in VERTICAL
            moving = (columns if vertical else rows) + self.tables.offsets[action]
            pushed = self.tables.pushed.take(moving)
            moved = pushed & _LINE_MASK
            after[:, action] = unpack(self.tables, (transpose(moved) if vertical else moved).T)
            rewards[:, action] = pushed.sum(axis=0) >> _REWARD_SHIFT & _REWARD_MASK
        return after, rewards, self.legal(lines)


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


def unpack(table: Tables, rows: Lines) -> Boards:
    """Unpack rows `(n, 4)` into fresh boards `(n, R, C)`."""
    n_rows, n_columns = table.shape
    boards = table.cells.take(rows).view(np.uint8).reshape(-1, PACKED_SIDE, PACKED_SIDE)
    return np.ascontiguousarray(boards[:, :n_rows, :n_columns])


def worst_cells(table: Tables, lines: Lines, tiles: Ints) -> Bools:
    """Return the cells that are worst for the player, `(R * C, n)`, of packed `(2, 4, n)`."""
    # A new tile changes one row and one column, so the value of a push is that of the other lines
    # plus that of the line with the tile.  Illegal pushes need no mask: they pay 0 and free no
    # cell, so they never raise the maximum.
    n_rows, n_columns = table.shape
    rows, columns = lines[0, :n_rows, None], lines[1, None, :n_columns]  # (R, 1, n), (1, C, n)
    in_place = tiles << _PLACES
    with_tile = rows | in_place[:n_columns], columns | in_place[:n_rows, None]  # (R, C, n)
    empty = (rows & (tables.CELL_MASK << _PLACES[:n_columns])) == 0
    dtype = table.gains.dtype
    values = np.multiply(~empty, np.iinfo(dtype).max, dtype=dtype)  # where no tile may appear
    for action, offset in enumerate(table.offsets):
        vertical, gains = action in VERTICAL, table.gains[offset:]
        before, pushed = gains.take(columns if vertical else rows), gains.take(with_tile[vertical])
        pushed += before.sum(axis=(0, 1), dtype=dtype) - before
        np.maximum(values, pushed, out=values)
    worst: Bools = (values == values.min(axis=(0, 1))) & empty
    return worst.reshape(n_rows * n_columns, len(tiles))
