"""Lookup tables of packed boards, compiled from the rules.

A *line* is a row or a column, packed into an integer of 5 bits a cell, its first cell lowest:

    [2 2 4 0] in tile indices is [1 1 2 0], packed 1 | 1 << 5 | 2 << 10 | 0 << 15

A board is kept as four such lines, those a smaller board lacks being empty.  Up and left push a
line towards its low end, right and down towards its high end, so four directions need two pushes.
"""

import sys
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.tables import shared
from tile_envs.errors import UsageError
from tile_envs.sliding.pairs import TILE_BITS, compile_pairs, push_to_low_end
from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, MOVE_LIMIT, RIGHT, UP, VERTICAL, Rules

assert sys.byteorder == "little", "the first cell of a line is its lowest byte"

Lines = NDArray[np.int64]

PACKED_SIDE = 4  # the most rows or columns of a board that is packed; the fewest is 2
CELLS = PACKED_SIDE * PACKED_SIDE

CELL_BITS = TILE_BITS
CELL_MASK = (1 << CELL_BITS) - 1
LINE_BITS = CELL_BITS * PACKED_SIDE
LINE_MASK = (1 << LINE_BITS) - 1

# An entry of `Tables.pushed`, of [2 2 4 0] pushed to its low end:
#
#     bits  58-62          25-57    20-24          0-19
#           largest tile   reward   empty cells    line after the push
#           2 (a 4)        4        2              [4 4 0 0], 2 | 2 << 5
#
# Summed over four lines, the line and the number of empty cells stay below 2**25 and the rewards
# below 2**33, so nothing carries into the reward; the maximum of entries has the largest tile.
EMPTY_SHIFT, EMPTY_MASK = LINE_BITS, 7
REWARD_SHIFT, REWARD_MASK = LINE_BITS + 5, MOVE_LIMIT - 1
LARGEST_SHIFT = REWARD_SHIFT + 33

# Transposing four lines swaps the two off-diagonal 2×2 blocks, then the off-diagonal cells of each.
LOW_BLOCK, EVEN_CELLS = 0b00000_00000_11111_11111, 0b00000_11111_00000_11111

TO_LOW_END, TO_HIGH_END = 1 << UP | 1 << LEFT, 1 << DOWN | 1 << RIGHT  # actions, as bits

# A pattern is an action and the number of empty cells it leaves on each line, as digits.
PATTERN_WEIGHTS = tuple((PACKED_SIDE + 1) ** line for line in range(PACKED_SIDE))
PATTERN_ACTION_WEIGHT = (PACKED_SIDE + 1) ** PACKED_SIDE


@dataclass(frozen=True, eq=False)
class Tables:
    """All pushes on boards of one game and shape, looked up by packed line.

    A pushed line is packed against a wall, so the numbers of empty cells say where these are, here
    of a push to the left; k of a board with 6 empty cells is `(word >> 32) * 6 >> 32`:

        x x x x   0                            - - - -
        x x . .   2    pattern of LEFT and     - - 0 1
        x . . .   3    the digits 0 2 3 1      - 2 3 4
        x x x .   1                            - - - 5
    """

    shape: tuple[int, int]  # rows and columns
    pushed: NDArray[np.int64]  # by `offsets[action] + line`: the line after the push, as above
    offsets: NDArray[np.int64]  # `(4,)`, where in `pushed` each action's part begins
    row_legal: NDArray[np.uint8]  # by row: the actions, as bits, that would change it
    column_legal: NDArray[np.uint8]  # by column: the same
    cells: NDArray[np.uint32]  # by row: its tile indices, one a byte
    empty_count: NDArray[np.uint64]  # `(4 * 625,)`, by pattern: how many cells are empty
    # `(4 * 625 * 16,)`, by `pattern * 16 + k`: the board's k-th empty cell in reading order, as
    # `line << 5 | shift`, the line among those that were pushed and the shift of the cell in it.
    empty_cell: NDArray[np.int64]
    empty_number: NDArray[np.int64]  # the same, counted row by row

    @cached_property
    def gains(self) -> NDArray[Any]:
        """As `pushed`: the reward of a line plus the number of its empty cells."""
        empty, reward = self.pushed >> EMPTY_SHIFT, self.pushed >> REWARD_SHIFT
        gains = (empty & EMPTY_MASK) + (reward & REWARD_MASK)
        fits = gains.max() * PACKED_SIDE <= np.iinfo(np.int32).max
        return gains.astype(np.int32) if fits else gains


def packs(shape: tuple[int, ...]) -> bool:
    return all(2 <= side <= PACKED_SIDE for side in shape)


def check_packs(shape: tuple[int, int], what: str, advice: str) -> None:
    """Refuse by a `ValueError` a shape whose boards are not packed, for what knows no others."""
    if not packs(shape):
        sides = f"2 to {PACKED_SIDE} rows and columns, got {shape[0]}×{shape[1]}"
        raise UsageError(f"{what} is for boards of {sides}: {advice}.")


@cache
def compile_tables(rules: Rules, shape: tuple[int, int]) -> Tables:
    """Compile the tables of a game on packed boards, once per process (4×4: 0.1 s, 22 MiB)."""
    check_packs(shape, "a game of lookup tables", "others are cells")
    n_rows, n_columns = shape
    pushed, row_legal = _push_lines(rules, n_columns)
    up, column_legal = 0, row_legal
    if n_rows != n_columns:  # else columns are pushed as rows are
        column_pushed, column_legal = _push_lines(rules, n_rows)
        pushed, up = np.concatenate([pushed, column_pushed]), pushed.size
    offsets = np.array([up, row_legal.size, up + column_legal.size, 0])
    of_rows, of_columns = np.uint8(1 << RIGHT | 1 << LEFT), np.uint8(1 << UP | 1 << DOWN)
    legal = row_legal & of_rows, column_legal & of_columns
    cells = _pack(_unpack(np.arange(row_legal.size, dtype=np.uint32), n_columns), bits=8)
    return shared(Tables(shape, pushed, offsets, *legal, cells, *_empty_cells(shape)))


def _push_lines(rules: Rules, length: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Push every line of a length, to its low end, then to its high end.

    Returns what `Tables.pushed` holds of them, `(2 * 32**length,)`, and by line the actions, as
    bits, that change it.
    """
    lines = np.arange(1 << CELL_BITS * length, dtype=np.uint32)
    cells = _unpack(lines, length)
    after = cells.copy()
    rewards = push_to_low_end(compile_pairs(rules), after[:, None])
    low = _pack(after, CELL_BITS) | (after == 0).sum(axis=0) << EMPTY_SHIFT
    low |= rewards << REWARD_SHIFT | after.max(axis=0).astype(np.int64) << LARGEST_SHIFT
    low_changes = (low & LINE_MASK) != lines
    # A push to the high end is one to the low end, seen in a mirror:
    # [2 2 4 0], in the mirror [0 4 2 2], pushed [4 4 0 0], in the mirror [0 0 4 4].
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


def _empty_cells(shape: tuple[int, int]) -> tuple[NDArray[Any], ...]:
    """List the empty cells of every pattern, as `Tables` holds them: count, cells, numbers."""
    # By pattern, line and place on the line, `(625, 4, 4)`; the first digit is the lowest.
    digits = np.indices((PACKED_SIDE + 1,) * PACKED_SIDE).reshape(PACKED_SIDE, -1)[::-1]
    n_empty, (line, place) = digits.T[:, :, None], np.indices((PACKED_SIDE, PACKED_SIDE))
    tables = []
    for action in range(len(ACTIONS)):
        n_lines, length = shape[::-1] if action in VERTICAL else shape
        to_low_end = TO_LOW_END >> action & 1
        empty = place >= length - n_empty if to_low_end else place < n_empty
        empty &= (line < n_lines) & (place < length)
        cell = line << CELL_BITS | CELL_BITS * place
        if action in VERTICAL:  # in reading order
            empty, cell = empty.transpose(0, 2, 1), cell.T
        empty = empty.reshape(-1, CELLS)
        kth = np.argsort(~empty, axis=1, kind="stable").reshape(-1)  # row * 4 + column, empty first
        number = kth // PACKED_SIDE * shape[1] + kth % PACKED_SIDE
        tables.append((empty.sum(axis=1, dtype=np.uint64), cell.reshape(-1).take(kth), number))
    return tuple(map(np.concatenate, zip(*tables, strict=True)))
