"""Batched boards: packing, transposing, legality, afterstates.

In public a board is `uint8` tile indices, `(R, C)`; inside, it is its rows and its columns as
packed lines (see `tables`), both kept, so that a push and the legal actions are lookups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import as_array
from tile_envs.errors import UsageError
from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, MAX_SIDE, RIGHT, UP, Rules
from tile_envs.sliding.tables import (
    CELL_BITS,
    EVEN_CELLS,
    LINE_MASK,
    LOW_BLOCK,
    REWARD_MASK,
    REWARD_SHIFT,
    Lines,
    Tables,
    compile_tables,
)

Boards = NDArray[np.uint8]

MASKS = np.array([[bits >> a & 1 for a in range(4)] for bits in range(16)], np.int8)
"""`(16, 4)`: the action mask of each set of legal actions."""

PLACES = CELL_BITS * np.arange(MAX_SIDE)[:, None]
"""`(4, 1)`: the shift of each cell of a line."""

# Constants are 0-d arrays: see `random_stream`.
_TWO_CELLS, _LOW_BLOCK = np.array(2 * CELL_BITS), np.array(LOW_BLOCK)
_ONE_CELL, _EVEN_CELLS = np.array(CELL_BITS), np.array(EVEN_CELLS)


def pack(boards: Boards) -> Lines:
    """Pack boards `(n, R, C)` into rows and columns, `(2, 4, n)`."""
    n, n_rows, n_columns = boards.shape
    wide = boards.transpose(1, 2, 0).astype(np.int64)
    lines = np.zeros((2, MAX_SIDE, n), np.int64)
    lines[0, :n_rows] = np.add.reduce(wide << PLACES[:n_columns], axis=1)
    lines[1, :n_columns] = np.add.reduce(wide << PLACES[:n_rows, None], axis=0)
    return lines


def unpack(tables: Tables, rows: Lines) -> Boards:
    """Unpack rows `(4, n)` into fresh boards `(n, R, C)`."""
    n_rows, n_columns = tables.shape
    cells = np.empty((rows.shape[1], MAX_SIDE), np.uint32)
    np.copyto(cells.T, tables.cells.take(rows))
    boards = cells.view(np.uint8).reshape(-1, MAX_SIDE, MAX_SIDE)
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


def legal_actions(boards: ArrayLike, rules: Rules) -> NDArray[np.int8]:
    """Return the action masks `(n, 4) int8` of boards `(n, R, C)` of a game such as `RULES_2048`.

    An action (0 up, 1 right, 2 down, 3 left) is legal if it changes the board.

    Raises:
        ValueError: If these are not boards of the game.
    """
    boards = checked_boards(boards, rules)
    return MASKS[legal(compile_tables(rules, boards.shape[1:]), pack(boards))]


def afterstates(
    boards: ArrayLike, rules: Rules
) -> tuple[Boards, NDArray[np.int64], NDArray[np.int8]]:
    """Return what each action makes of boards `(n, R, C)`, before the new tile appears.

    Returns:
        The afterstates `(n, 4, R, C) uint8` (an illegal action leaves the board as it is), the
        rewards `(n, 4) int64`, and the action masks `(n, 4) int8`.

    Raises:
        ValueError: If these are not boards of the game.
    """
    boards = checked_boards(boards, rules)
    tables = compile_tables(rules, boards.shape[1:])
    rows, columns = lines = pack(boards)
    after = np.empty((len(boards), len(ACTIONS), *boards.shape[1:]), np.uint8)
    rewards = np.empty((len(boards), len(ACTIONS)), np.int64)
    for action in (UP, RIGHT, DOWN, LEFT):
        horizontal = action in (LEFT, RIGHT)
        pushed = tables.pushed.take((rows if horizontal else columns) + tables.offsets[action])
        moved = pushed & LINE_MASK
        after[:, action] = unpack(tables, moved if horizontal else transpose(moved))
        rewards[:, action] = pushed.sum(axis=0) >> REWARD_SHIFT & REWARD_MASK
    return after, rewards, MASKS[legal(tables, lines)]


def checked_boards(boards: ArrayLike, rules: Rules) -> Boards:
    """Return boards `(n, R, C)` of a game, tile indices of any integer type, as `uint8`."""
    array = as_array(boards)
    if array.ndim != 3 or not all(2 <= side <= MAX_SIDE for side in array.shape[1:]):
        raise UsageError(f"boards must have shape (n, R, C), R and C 2 to 4, got {array.shape}.")
    if array.dtype.kind not in "iu":
        raise UsageError(f"boards must be integers (tile indices), got dtype {array.dtype}.")
    if array.size and not 0 <= array.min() <= array.max() <= rules.largest:
        raise UsageError(
            f"boards of {rules.name} hold tile indices 0 to {rules.largest}, not faces, "
            f"got {array.min()} to {array.max()}."
        )
    return array.astype(np.uint8)
