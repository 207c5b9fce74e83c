"""The entries of a board, compiled: which they are, and their sum.

An entry's number is itself a sum, over the pairs of neighbouring cells of a row, of what each pair
adds to it.  `Net.parts` holds that for every pair of tiles, for all tuples in all reflections side
by side.  One vector addition per pair then replaces shifts and masks, for any number of values of a
cell and any order of the entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.ntuple.network import Network, Weights
from baselines.ntuple.simd import add_up, round_up, simd_or_none
from tile_envs.base.compiled import Word, compiled
from tile_envs.base.random_stream import Words
from tile_envs.sliding.kernels import LOW_BLOCK, TWO_CELLS, GameTables, transposed
from tile_envs.sliding.tables import CELL_BITS, CELL_MASK

Indices = NDArray[np.uint32]

REFLECTIONS = (False, False), (False, True), (True, False), (True, True)  # upside down, mirrored
PAIRS = 1 << 2 * CELL_BITS
_HALF_ROWS = tuple(Word(i * PAIRS) for i in range(8))


class Net(NamedTuple):
    """A network as compiled loops take it.

    Attributes:
        parts: `(8 * 1024 * lanes,) uint32`, by half row, then by the two tiles on it: what they add
            to the entry number of each tuple in each reflection.
        lanes: The length of a line of `parts`: 4 numbers per tuple, filled up to whole vectors.
        used: The lanes in use, from 0 on.  The tuple's length carries their number at compile time.
        turns: 2 on a square board, whose lines are read as rows and then as columns; else 1.
        stages: `(32,) uint64`, by the largest tile: where the weights of its stage begin.
        weights: `(entries * width,) float32`.
        simd: True for SIMD code, None for a plain loop; see `simd_or_none`.
    """

    parts: Indices
    lanes: Word
    used: tuple[Word, ...]
    turns: int
    stages: Words
    weights: Weights
    simd: bool | None


def net_of(network: Network, weights: Weights) -> Net:
    """Return a network for compiled loops, given its weights `(entries * width,)`."""
    width = len(weights) // network.entries
    n_rows, n_columns = network.shape
    used = len(REFLECTIONS) * len(network.tuples)
    lanes = round_up(used)
    pairs = np.arange(PAIRS)
    digits = np.minimum([pairs & CELL_MASK, pairs >> CELL_BITS], network.values - 1)
    parts = np.zeros((4, 2, PAIRS, lanes), np.int64)
    begins = 0
    for number, cells in enumerate(network.tuples):
        addends = _addends(network.values, len(cells)) * width
        for lane, (upside_down, mirrored) in enumerate(REFLECTIONS, len(REFLECTIONS) * number):
            parts[0, 0, :, lane] += begins * width
            for place, cell in enumerate(cells):
                row, column = divmod(cell, n_columns)
                row = n_rows - 1 - row if upside_down else row
                column = n_columns - 1 - column if mirrored else column
                parts[row, column // 2, :, lane] += addends[digits[column % 2], place]
        begins += network.values ** len(cells)
    stage = np.searchsorted(network.stages, np.arange(CELL_MASK + 1), side="right")
    return Net(
        parts=parts.astype(np.uint32).reshape(-1),
        lanes=Word(lanes),
        used=tuple(map(Word, range(used))),
        turns=network.per_board // used,
        stages=stage.astype(np.uint64) * np.uint64(network.size * width),
        weights=weights,
        simd=simd_or_none(),
    )


def _addends(values: int, cells: int) -> NDArray[np.int64]:
    """Return what each value of each cell adds to an entry's number, `(values, cells)`.

    A value is written with one digit for each of its prime factors, and the lowest digits of all
    cells come first: 16 values are four bits, interleaved (Morton, 1966).  Entries that are used
    together, those of boards with the same large tiles, then share cache lines and memory pages,
    which makes play nearly twice as fast as the order cell after cell.
    """
    addends = np.zeros((values, cells), np.int64)
    rest, one = np.arange(values), 1
    for factor in _prime_factors(values):
        addends += (rest % factor)[:, None] * one * factor ** np.arange(cells)
        rest //= factor
        one *= factor**cells
    return addends


def _prime_factors(n: int) -> tuple[int, ...]:
    smallest = next((factor for factor in range(2, n + 1) if n % factor == 0), None)
    return (smallest, *_prime_factors(n // smallest)) if smallest else ()


@compiled
def look_up(
    game: GameTables,
    net: Net,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    stage: Word,
    out: Indices,
    at: Word,
) -> None:
    """Write the indices of a board's entries, and have these fetched from memory.

    The board is given by its rows; on a square board columns do as well.  The weights of its stage
    begin at `stage`, and `out` receives `turns * lanes` indices from `at` on.
    """
    _look(net, a, b, c, d, stage, out, at)
    if game.square:
        a, b, c, d = transposed(a, b, c, d)
        _look(net, a, b, c, d, stage, out, at + net.lanes)


@compiled
def _look(
    net: Net, a: Word, b: Word, c: Word, d: Word, stage: Word, out: Indices, at: Word
) -> None:
    pairs = (
        a & LOW_BLOCK,
        (a >> TWO_CELLS) + _HALF_ROWS[1],
        (b & LOW_BLOCK) + _HALF_ROWS[2],
        (b >> TWO_CELLS) + _HALF_ROWS[3],
        (c & LOW_BLOCK) + _HALF_ROWS[4],
        (c >> TWO_CELLS) + _HALF_ROWS[5],
        (d & LOW_BLOCK) + _HALF_ROWS[6],
        (d >> TWO_CELLS) + _HALF_ROWS[7],
    )
    add_up(net.simd, net.parts, pairs, net.used, out, at, net.weights, stage)


@compiled
def sum_up(net: Net, indices: Indices, at: Word, stage: Word) -> np.float32:
    """Return the sum of a board's entries, as `look_up` has written them from `at` on.

    The order of additions is fixed.
    """
    # Four sums at a time: one would wait for the end of each addition.
    first = second = third = fourth = np.float32(0)
    for turn in range(net.turns):
        begin = at + Word(turn) * net.lanes
        for lane in range(begin, begin + Word(len(net.used)), Word(4)):
            first += net.weights[stage + indices[lane]]
            second += net.weights[stage + indices[lane + Word(1)]]
            third += net.weights[stage + indices[lane + Word(2)]]
            fourth += net.weights[stage + indices[lane + Word(3)]]
    return (first + second) + (third + fourth)
