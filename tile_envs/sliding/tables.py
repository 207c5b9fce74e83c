"""Lookup tables compiled from the rules: the one place where tiles are slid and merged.

A *line* is a row or a column, packed into an integer of 5 bits a cell, its first cell lowest:

    [2 2 4 0] in tile indices is [1 1 2 0], packed 1 | 1 << 5 | 2 << 10 | 0 << 15

A board is kept as four such lines, those a smaller board lacks being empty.  Up and left push a
line towards its low end, right and down towards its high end, so four directions need two pushes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, MAX_SIDE, RIGHT, UP, Rules

Lines = NDArray[np.int64]

CELL_BITS = 5
CELL_MASK = 31
LINE_BITS = CELL_BITS * MAX_SIDE
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
PATTERN_WEIGHTS = tuple((MAX_SIDE + 1) ** line for line in range(MAX_SIDE))
PATTERN_ACTION_WEIGHT = (MAX_SIDE + 1) ** MAX_SIDE
CELLS = MAX_SIDE * MAX_SIDE


@dataclass(frozen=True, eq=False)
class Tables:
    """Everything that can happen on boards of one game and shape, looked up by packed line.

    Attributes:
        rules: The game.
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

    rules: Rules
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
        fits = gains.max() * MAX_SIDE <= np.iinfo(np.int32).max
        return gains.astype(np.int32) if fits else gains

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickle names the tables instead of holding them.
        return compile_tables, (self.rules, self.shape)


@cache
def compile_tables(rules: Rules, shape: tuple[int, int]) -> Tables:
    """Compile the tables of a game and shape, once per process (4×4: 0.1 s, 22 MiB)."""
    n_rows, n_columns = shape
    row_pushed, row_legal = _push_lines(rules, n_columns)
    if n_rows == n_columns:
        pushed, column_legal, column_part = row_pushed, row_legal, 0
    else:
        column_pushed, column_legal = _push_lines(rules, n_rows)
        pushed, column_part = np.concatenate([row_pushed, column_pushed]), row_pushed.size
    offsets = np.zeros(4, np.int64)
    offsets[RIGHT] = row_legal.size
    offsets[UP] = column_part
    offsets[DOWN] = column_part + column_legal.size
    empty_count, empty_cell = _empty_cells(shape)
    rows = np.arange(row_legal.size, dtype=np.uint32)
    tables = Tables(
        rules=rules,
        shape=shape,
        pushed=pushed,
        offsets=offsets,
        row_legal=row_legal & np.uint8(ROW_ACTIONS),
        column_legal=column_legal & np.uint8(COLUMN_ACTIONS),
        cells=_pack(_unpack(rows, n_columns), bits=8),
        empty_count=empty_count,
        empty_cell=empty_cell,
    )
    for table in vars(tables).values():
        if isinstance(table, np.ndarray):
            table.flags.writeable = False  # shared by every environment of the process
    return tables


def _push_lines(rules: Rules, length: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Push every line of a length: to its low end, to its high end `(2 * 32**length,)`.

    Returns what `Tables.pushed` holds of them, and the actions, as bits, that change each line.
    """
    lines = np.arange(1 << CELL_BITS * length, dtype=np.uint32)
    cells = _unpack(lines, length)
    after, rewards = _push_to_low_end(rules, cells)
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


def _push_to_low_end(
    rules: Rules, cells: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Slide and merge `(length, n)` cells towards index 0; return them and the rewards `(n,)`."""
    merged = np.zeros((1 << CELL_BITS, 1 << CELL_BITS), np.uint8)
    for a, b, c in rules.merges:
        merged[a, b] = c
    faces = np.zeros(1 << CELL_BITS, np.int64)
    faces[: len(rules.faces)] = rules.faces
    cells, length = cells.copy(), len(cells)
    for end in range(length - 1, 0, -1):  # let the empty cells bubble to the high end
        for i in range(end):
            empty = cells[i] == 0
            cells[i] |= cells[i + 1] * empty
            cells[i + 1] *= ~empty
    rewards = np.zeros(cells.shape[1], np.int64)
    for i in range(length - 1):  # from the wall on; a merged tile is left behind, so it rests
        made = merged[cells[i], cells[i + 1]]
        apart = made == 0
        rewards += faces[made]
        cells[i] = cells[i] * apart + made
        for j in range(i + 1, length):
            beyond = cells[j + 1] if j + 1 < length else np.uint8(0)
            cells[j] = np.where(apart, cells[j], beyond)
    return cells, rewards


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
        lacking = (length,) * (MAX_SIDE - count)
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
