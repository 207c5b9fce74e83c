"""Batched boards: packing, transposing, legality, afterstates.

In public a board is `uint8` tile indices, `(R, C)`; inside, it is its rows and its columns as
packed lines (see `tables`), both kept, so that a push and the legal actions are lookups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.engine import Ints
from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, RIGHT, UP
from tile_envs.sliding.tables import (
    CELL_BITS,
    EVEN_CELLS,
    LINE_MASK,
    LOW_BLOCK,
    PACKED_SIDE,
    REWARD_MASK,
    REWARD_SHIFT,
    Lines,
    Tables,
)

Boards = NDArray[np.uint8]

PLACES = CELL_BITS * np.arange(PACKED_SIDE)[:, None]
"""`(4, 1)`: the shift of each cell of a line."""

# Constants are 0-d arrays: see `random_stream`.
_TWO_CELLS, _LOW_BLOCK = np.array(2 * CELL_BITS), np.array(LOW_BLOCK)
_ONE_CELL, _EVEN_CELLS = np.array(CELL_BITS), np.array(EVEN_CELLS)


def pack(boards: Boards) -> Lines:
    """Pack boards `(n, R, C)` into rows and columns, `(2, 4, n)`."""
    n, n_rows, n_columns = boards.shape
    wide = boards.transpose(1, 2, 0).astype(np.int64)
    lines = np.zeros((2, PACKED_SIDE, n), np.int64)
    lines[0, :n_rows] = np.add.reduce(wide << PLACES[:n_columns], axis=1)
    lines[1, :n_columns] = np.add.reduce(wide << PLACES[:n_rows, None], axis=0)
    return lines


def unpack(tables: Tables, rows: Lines) -> Boards:
    """Unpack rows `(4, n)` into fresh boards `(n, R, C)`."""
    n_rows, n_columns = tables.shape
    cells = np.empty((rows.shape[1], PACKED_SIDE), np.uint32)
    np.copyto(cells.T, tables.cells.take(rows))
    boards = cells.view(np.uint8).reshape(-1, PACKED_SIDE, PACKED_SIDE)
    return np.ascontiguousarray(boards[:, :n_rows, :n_columns])


def transpose(lines: Lines) -> Lines:
    """Turn rows `(4, n)` into columns, or columns into rows."""
    turned = lines.copy()
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


def legal(tables: Tables, lines: Lines) -> NDArray[np.intp]:
    """Return the legal actions, as bits `(n,)`, of boards packed into `lines` `(2, 4, n)`."""
    by_line = tables.row_legal.take(lines[0]) | tables.column_legal.take(lines[1])
    actions: NDArray[np.intp] = np.bitwise_or.reduce(by_line).astype(np.intp)
    return actions


def afterstates(tables: Tables, boards: Boards) -> tuple[Boards, Ints, NDArray[np.intp]]:
    """Return what each action makes of boards: see `tile_envs.sliding.boards.afterstates`.

    The legal actions are bits.
    """
    rows, columns = lines = pack(boards)
    after = np.empty((len(boards), len(ACTIONS), *boards.shape[1:]), np.uint8)
    rewards = np.empty((len(boards), len(ACTIONS)), np.int64)
    for action in (UP, RIGHT, DOWN, LEFT):
        horizontal = action in (LEFT, RIGHT)
        pushed = tables.pushed.take((rows if horizontal else columns) + tables.offsets[action])
        moved = pushed & LINE_MASK
        after[:, action] = unpack(tables, moved if horizontal else transpose(moved))
        rewards[:, action] = pushed.sum(axis=0) >> REWARD_SHIFT & REWARD_MASK
    return after, rewards, legal(tables, lines)
