"""Lookup tables of packed boards, compiled from the rules.

A *line* is a row or a column, packed into an integer of 5 bits a cell, its first cell lowest:

    [2 2 4 0] in tile indices is [1 1 2 0], packed 1 | 1 << 5 | 2 << 10 | 0 << 15

A board is kept as four such lines, those a smaller board lacks being empty.  Up and left push a
line towards its low end, right and down towards its high end, so four directions need two pushes.
"""

import itertools
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.tables import shared
from tile_envs.errors import UsageError
from tile_envs.sliding.pairs import TILE_BITS, compile_pairs, push_to_low_end
from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, RIGHT, UP, VERTICAL, Rules

assert sys.byteorder == "little", "the first cell of a line is its lowest byte"

Lines = NDArray[np.int64]

PACKED_SIDE = 4
"""The most rows or columns of a board that is packed; the fewest is 2."""

CELL_BITS = TILE_BITS
CELL_MASK = (1 << CELL_BITS) - 1
LINE_BITS = CELL_BITS * PACKED_SIDE
LINE_MASK = (1 << LINE_BITS) - 1

# What `Tables.pushed` holds of a pushed line, from bit 0 on: the line itself (20 bits), the number
# of its empty cells (5), the reward (33) and the largest tile (5).  One sum adds up the rewards of
# four lines, which have room for it, and one maximum finds the largest tile, which is on top.
EMPTY_SHIFT, EMPTY_MASK = LINE_BITS, 7
REWARD_SHIFT, REWARD_MASK = 25, (1 << 33) - 1
LARGEST_SHIFT = 58

# Transposing four lines swaps the two off-diagonal 2×2 blocks, then the off-diagonal cells of each.
LOW_BLOCK, EVEN_CELLS = 0b00000_00000_11111_11111, 0b00000_11111_00000_11111

# The actions that move a line when it is a row or a column, as bits 1 << action.
ROW_ACTIONS = 1 << RIGHT | 1 << LEFT
COLUMN_ACTIONS = 1 << UP | 1 << DOWN
TO_LOW_END = 1 << UP | 1 << LEFT
TO_HIGH_END = 1 << DOWN | 1 << RIGHT

# A pattern is an action and the number of empty cells it leaves on each line, as digits.
PATTERN_WEIGHTS = tuple((PACKED_SIDE + 1) ** line for line in range(PACKED_SIDE))
PATTERN_ACTION_WEIGHT = (PACKED_SIDE + 1) ** PACKED_SIDE
CELLS = PACKED_SIDE * PACKED_SIDE


@dataclass(frozen=True, eq=False)
class Tables:
    """Everything that can happen on boards of one game and shape, looked up by packed line.

    Attributes:
        shape: Rows and columns.
        pushed: `int64`, by `offsets[action] + line`: the line after the push, as described above.
        offsets: `(4,) int64`, where in `pushed` each action's part begins.
        row_legal: `uint8`, by row: the actions, as bits, that would change it.
        column_legal: `uint8`, by column: the same.
        cells: `uint32`, by row: its tile indices, one a byte.
        empty_count: `(4 * 625,) uint64`, by pattern: how many cells are empty after the push.
        empty_cell: `(4 * 625 * 16,) int64`, by `pattern * 16 + k`: the board's k-th empty cell in
            reading order, as `line << 5 | shift`, the line among those that were pushed and the
            shift of the cell in it.  A pushed line is packed against a wall, so the number of its
            empty cells determines where they are.
    """

    shape: tuple[int, int]
    pushed: NDArray[np.int64]
    offsets: NDArray[np.int64]
    row_legal: NDArray[np.uint8]
    column_legal: NDArray[np.uint8]
    cells: NDArray[np.uint32]
    empty_count: NDArray[np.uint64]
    empty_cell: NDArray[np.int64]

    @cached_property
    def gains(self) -> NDArray[Any]:
        """Integers, as `pushed`: the reward of a line plus the number of its empty cells."""
        empty, reward = self.pushed >> EMPTY_SHIFT, self.pushed >> REWARD_SHIFT
        gains = (empty & EMPTY_MASK) + (reward & REWARD_MASK)
        fits = gains.max() * PACKED_SIDE <= np.iinfo(np.int32).max
        return gains.astype(np.int32) if fits else gains

    @cached_property
    def empty_number(self) -> NDArray[np.int64]:
        """The numbers of the cells in `empty_cell`, row by row."""
        line, place = self.empty_cell >> CELL_BITS, (self.empty_cell & CELL_MASK) // CELL_BITS
        vertical = np.repeat(np.isin(range(len(ACTIONS)), VERTICAL), len(line) // len(ACTIONS))
        row, column = np.where(vertical, place, line), np.where(vertical, line, place)
        return row * self.shape[1] + column


def packs(shape: tuple[int, ...]) -> bool:
    """Tell whether boards of a shape are packed."""
    return all(2 <= side <= PACKED_SIDE for side in shape)


def check_packs(shape: tuple[int, int], what: str, advice: str) -> None:
    """Refuse by a `ValueError` a shape whose boards are not packed, for what knows no others."""
    if not packs(shape):
        raise UsageError(
            f"{what} is for boards of 2 to {PACKED_SIDE} rows and columns, "
            f"got {shape[0]}×{shape[1]}: {advice}."
        )


@cache
def compile_tables(rules: Rules, shape: tuple[int, int]) -> Tables:
    """Compile the tables of a game on packed boards, once per process (4×4: 0.1 s, 22 MiB)."""
    check_packs(shape, "a game of lookup tables", "others are cells")
    n_rows, n_columns = shape
    row_pushed, row_legal = _push_lines(rules, n_columns)
    if n_rows == n_columns:
        pushed, column_legal, column_part = row_pushed, row_legal, 0
    else:
        column_pushed, column_legal = _push_lines(rules, n_rows)
        pushed, column_part = np.concatenate([row_pushed, column_pushed]), row_pushed.size
    up, right, down = column_part, row_legal.size, column_part + column_legal.size
    empty_count, empty_cell = _empty_cells(shape)
    rows = np.arange(row_legal.size, dtype=np.uint32)
    return shared(
        Tables(
            shape=shape,
            pushed=pushed,
            offsets=np.array([up, right, down, 0]),
            row_legal=row_legal & np.uint8(ROW_ACTIONS),
            column_legal=column_legal & np.uint8(COLUMN_ACTIONS),
            cells=_pack(_unpack(rows, n_columns), bits=8),
            empty_count=empty_count,
            empty_cell=empty_cell,
        )
    )


def _push_lines(rules: Rules, length: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Push every line of a length: to its low end, to its high end `(2 * 32**length,)`.

    Returns what `Tables.pushed` holds of them, and the actions, as bits, that change each line.
    """
    lines = np.arange(1 << CELL_BITS * length, dtype=np.uint32)
    cells = _unpack(lines, length)
    after = cells.copy()
    rewards = push_to_low_end(compile_pairs(rules), after[:, None])
    low = (
        _pack(after, CELL_BITS)
        | (after == 0).sum(axis=0) << EMPTY_SHIFT
        | rewards << REWARD_SHIFT
        | after.max(axis=0).astype(np.int64) << LARGEST_SHIFT
    )
    low_changes = (low & LINE_MASK) != lines
    # Seen in a mirror, a push to the high end is a push to the low end.
    mirror = _pack(cells[::-1], CELL_BITS)
    high = low[mirror]
    high = high & ~LINE_MASK | mirror[high & LINE_MASK]
    legal = low_changes * np.uint8(TO_LOW_END) | low_changes[mirror] * np.uint8(TO_HIGH_END)
    return np.concatenate([low, high]), legal


def _unpack(lines: NDArray[np.uint32], length: int) -> NDArray[np.uint8]:
    shifts = CELL_BITS * np.arange(length, dtype=np.uint32)[:, None]
    return (lines >> shifts & CELL_MASK).astype(np.uint8)


def _pack(cells: NDArray[np.uint8], bits: int) -> NDArray[np.uint32]:
    shifts = bits * np.arange(len(cells), dtype=np.uint32)[:, None]
    lines: NDArray[np.uint32] = np.bitwise_or.reduce(cells.astype(np.uint32) << shifts)
    return lines


def _empty_cells(shape: tuple[int, int]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """List the empty cells of every pattern (see `Tables.empty_count` and `Tables.empty_cell`)."""
    patterns = len(ACTIONS) * PATTERN_ACTION_WEIGHT
    empty_count = np.zeros(patterns, np.uint64)
    empty_cell = np.zeros((patterns, CELLS), np.int64)
    for action in range(len(ACTIONS)):
        horizontal = action in (LEFT, RIGHT)
        count, length = shape if horizontal else shape[::-1]
        to_low_end = bool(TO_LOW_END >> action & 1)
        # The lines a smaller board lacks are empty ones: as many empty cells as a line has.
        lacking = (length,) * (PACKED_SIDE - count)
        for empty in itertools.product(range(length + 1), repeat=count):
            places = [
                (line, place)
                for line, n in enumerate(empty)
                for place in (range(length - n, length) if to_low_end else range(n))
            ]
            if not horizontal:
                places.sort(key=lambda at: at[::-1])
            digits = zip(empty + lacking, PATTERN_WEIGHTS, strict=True)
            pattern = action * PATTERN_ACTION_WEIGHT + sum(n * weight for n, weight in digits)
            empty_count[pattern] = len(places)
            empty_cell[pattern, : len(places)] = [
                line << CELL_BITS | CELL_BITS * place for line, place in places
            ]
    return empty_count, empty_cell.reshape(-1)
