"""n-tuple networks: the value of a board is a sum of table entries, chosen by the tiles on tuples.

A tuple is a set of cells.  The tiles on them, as the digits of a number, choose an entry of the
tuple's table.  Every tuple looks at the board in all its symmetric orientations with the same table
(Szubert and Jaśkowski, "Temporal difference learning of n-tuple networks for the game 2048", CIG
2014), so that a 4×4 board's value is a sum of eight entries a tuple.

An entry's number is itself a sum, over the pairs of neighbouring cells of a row, of what each pair
adds to it; `Net.parts` holds that for every pair of tiles, for all tuples side by side in all their
reflections.  One vector addition a pair then does the work of shifts and masks, for any number of
values a cell and any order of the entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.checks import check_memory
from baselines.kernels import LOW_BLOCK, TWO_CELLS, Game, Word, compiled, transposed
from baselines.ntuple.vectors import LANES, add_up
from tile_envs.random_stream import Words
from tile_envs.sliding.env import SlidingEnv
from tile_envs.sliding.tables import CELL_BITS, CELL_MASK

Weights = NDArray[np.float32]
Indices = NDArray[np.uint32]

SETS = {
    "4x6": "012345 456789 012456 45689a",
    "5x6": "012345 456789 89abcd 012456 45689a",
    "8x6": "012456 456789 012345 234569 01259a 345678 134567 01489a",
    "4x5": "01234 45678 01245 45689",
    "5x5": "01234 45678 89abc 01245 45689",
    "5x4": "0123 4567 0145 1256 569a",
    "2x4": "0123 4567",
    "17x4": "0123 4567 0145 1256 569a",
    "2x7": "0123456 456789a",
}
"""Well-known sets for 4×4, cells as hexadecimal digits row by row.  The 17 four-tuples of 2014 are
all rows, columns and squares of the board; symmetric ones share their table here."""

SMALL_SETS = {
    (2, 2): "0123",
    (2, 3): "012345",
    (3, 2): "012345",
    (2, 4): "012345 014567",
    (4, 2): "012345 234567",
    (3, 3): "012345 012346 013467 123456",
    (3, 4): "012345 456789 012456 45689a",
    (4, 3): "012345 345678 013467 34679a",
}
"""What a smaller board is given unless something else is asked for."""

REFLECTIONS = (False, False), (False, True), (True, False), (True, True)  # upside down, in a mirror
PAIRS = 1 << 2 * CELL_BITS
LARGEST = 1 << 32  # entries are numbered in 32 bits


class Net(NamedTuple):
    """A network as compiled loops take it.

    Attributes:
        parts: `(8 * 1024 * lanes,) uint32`: by half row, then by the two tiles on it, what they add
            to the entry number of each tuple, in each of its reflections.
        lanes: Numbers side by side in `parts`: 4 for each tuple, filled up to whole vectors.
        used: Those in use, from 0 on; how many there are is part of its type, so that the compiler
            knows it.
        turns: In how many ways lines are looked at: as rows, and on a square board as columns, too.
        stages: `(32,) uint64`, by the largest tile: where the weights of its stage begin.
        weights: `(entries * width,) float32`.
    """

    parts: Indices
    lanes: Word
    used: tuple[Word, ...]
    turns: int
    stages: Words
    weights: Weights


@dataclass(frozen=True)
class Network:
    """The shape of an n-tuple network.

    Attributes:
        game: The name of the rules.
        shape: Rows and columns of the board.
        tuples: The cells of each tuple, numbered row by row.
        values: How many tiles a cell tells apart; larger ones share the last value.
        stages: Largest tiles, by index, with which a new stage with weights of its own begins.
    """

    game: str
    shape: tuple[int, int]
    tuples: tuple[tuple[int, ...], ...]
    values: int
    stages: tuple[int, ...] = ()

    @classmethod
    def of(cls, env: SlidingEnv, cells: str, values: int | None, stages: Sequence[int]) -> Network:
        """Read a network from a set's name or a list of tuples.

        Args:
            env: The game.
            cells: A name in `SETS`, tuples such as "0123 4567", or "" for the usual set.
            values: How many tiles a cell tells apart; None is 16 in 2048 and 32 in 2584.
            stages: The faces of the tiles with which a new stage begins.

        Raises:
            ValueError: If a tuple has no cells, repeats one or has one outside the board; if there
                are too few values; or if a stage's tile is none of the game's.
        """
        if not cells:
            usual = "5x6" if env.rules.name == "2048" else "5x5"
            cells = SETS[usual] if env.shape == (4, 4) else SMALL_SETS[env.shape]
        elif cells in SETS and env.shape != (4, 4):
            raise ValueError(f"the set {cells} is one for 4×4, not for {_times(env.shape)}.")
        tuples = _checked_tuples(SETS.get(cells, cells), env.shape)
        if not tuples:
            raise ValueError(f"a network has at least one tuple, got {cells!r}.")
        if values is None:
            values = 16 if env.rules.name == "2048" else 32
        if not 2 <= values <= CELL_MASK + 1:
            raise ValueError(f"values must be from 2 to {CELL_MASK + 1}, got {values}.")
        begins = tuple(sorted(env.rules.index_of(face) for face in stages))
        network = cls(env.rules.name, env.shape, tuples, values, begins)
        if network.entries > LARGEST:
            raise ValueError(
                f"{cells!r} with {values} values has {network.entries:,} entries, "
                f"more than the {LARGEST:,} that can be numbered."
            )
        return network

    def __str__(self) -> str:
        """Return everything that decides what an entry means."""
        tuples = " ".join("".join(f"{cell:x}" for cell in cells) for cells in self.tuples)
        stages = "".join(f" stage {tile}" for tile in self.stages)
        return f"{self.game} on {_times(self.shape)}, {self.values} values, {tuples}{stages}"

    @property
    def size(self) -> int:
        """The number of entries of one stage."""
        return sum(self.values ** len(cells) for cells in self.tuples)

    @property
    def entries(self) -> int:
        """The number of entries in all."""
        return self.size * (1 + len(self.stages))

    @property
    def per_board(self) -> int:
        """How many entries a board's value is the sum of."""
        return len(self.tuples) * (8 if self.shape[0] == self.shape[1] else 4)

    def with_weights(self, weights: Weights) -> Net:
        """Return the network for compiled loops.

        Args:
            weights: `(entries * width,)`, so many numbers side by side for an entry.
        """
        width = len(weights) // self.entries
        used = len(REFLECTIONS) * len(self.tuples)
        lanes = -(-used // LANES) * LANES
        pairs = np.arange(PAIRS)
        digits = np.minimum([pairs & CELL_MASK, pairs >> CELL_BITS], self.values - 1)
        parts = np.zeros((4, 2, PAIRS, lanes), np.int64)
        begins = 0
        for number, cells in enumerate(self.tuples):
            numbers = _numbers(self.values, len(cells))
            for lane, (upside_down, mirrored) in enumerate(REFLECTIONS, len(REFLECTIONS) * number):
                parts[0, 0, :, lane] += begins * width
                for place, cell in enumerate(cells):
                    row, column = divmod(cell, self.shape[1])
                    row = self.shape[0] - 1 - row if upside_down else row
                    column = self.shape[1] - 1 - column if mirrored else column
                    added = numbers[digits[column % 2], place] * width
                    parts[row, column // 2, :, lane] += added
            begins += self.values ** len(cells)
        stage = np.searchsorted(self.stages, np.arange(CELL_MASK + 1), side="right")
        return Net(
            parts=parts.astype(np.uint32).reshape(-1),
            lanes=Word(lanes),
            used=tuple(map(Word, range(used))),
            turns=self.per_board // used,
            stages=stage.astype(np.uint64) * np.uint64(self.size * width),
            weights=weights,
        )


def new_weights(network: Network, width: int, initial: float) -> Weights:
    """Return the weights of a network that has learned nothing, `(entries * width,)`.

    Args:
        network: Its shape.
        width: Numbers for an entry; the first is its weight.
        initial: What it says every board is worth.

    Raises:
        ValueError: If there is not enough memory.
    """

    def advice(available: int) -> str:
        fitting = [
            name
            for name, cells in SETS.items()
            if network.shape == (4, 4)
            and 4 * width * replace(network, tuples=_checked_tuples(cells, (4, 4))).entries
            <= available
        ]
        return f"one of {', '.join(fitting)} would fit" if fitting else "use shorter tuples"

    check_memory(4 * network.entries * width, f"the network ({network})", advice)
    weights = np.zeros(network.entries * width, np.float32)
    if initial:
        weights[::width] = initial / network.per_board
    return weights


_HALF_ROWS = tuple(Word(i * PAIRS) for i in range(8))


@compiled
def look_up(
    game: Game,
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

    Args:
        game: The game.
        net: The network.
        a: The first row; on a square board columns do as well.
        b: The second.
        c: The third.
        d: The fourth.
        stage: Where the weights of the board's stage begin.
        out: Where to write `turns * lanes` indices ...
        at: ... from here on.
    """
    _look(net, a, b, c, d, stage, out, at)
    if game.square:
        a, b, c, d = transposed(a, b, c, d)
        _look(net, a, b, c, d, stage, out, at + net.lanes)


@compiled
def _look(
    net: Net, a: Word, b: Word, c: Word, d: Word, stage: Word, out: Indices, at: Word
) -> None:
    """Write the indices of a board as its lines are given, in all their reflections."""
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
    add_up(net.parts, pairs, net.used, out, at, net.weights, stage)


@compiled
def sum_up(net: Net, indices: Indices, at: Word, stage: Word) -> np.float32:
    """Return the sum of a board's entries; the order of additions is fixed.

    Args:
        net: The network.
        indices: Those of the board's entries, as `look_up` writes them ...
        at: ... from here on.
        stage: Where the weights of the board's stage begin.
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


def _numbers(values: int, cells: int) -> NDArray[np.int64]:
    """Return what each value of each cell adds to an entry's number, `(values, cells)`.

    A value is written with a digit for each of its prime factors, and the lowest digits of all
    cells come first: 16 values are four bits, interleaved (Morton, 1966).  Entries that are used
    together, those of boards with the same large tiles, then share lines of the cache and pages of
    memory, which makes play nearly twice as fast as cell after cell.
    """
    numbers = np.zeros((values, cells), np.int64)
    rest, one = np.arange(values), 1
    for factor in _prime_factors(values):
        numbers += (rest % factor)[:, None] * one * factor ** np.arange(cells)
        rest //= factor
        one *= factor**cells
    return numbers


def _prime_factors(n: int) -> tuple[int, ...]:
    smallest = next((factor for factor in range(2, n + 1) if n % factor == 0), None)
    return (smallest, *_prime_factors(n // smallest)) if smallest else ()


def _checked_tuples(texts: str, shape: tuple[int, int]) -> tuple[tuple[int, ...], ...]:
    return tuple(_checked_tuple(text, shape) for text in texts.split())


def _checked_tuple(text: str, shape: tuple[int, int]) -> tuple[int, ...]:
    cells = math.prod(shape)
    try:
        chosen = tuple(sorted(int(digit, 16) for digit in text))
    except ValueError:
        raise ValueError(
            f"tuples are cells as hexadecimal digits, such as 012345, or one of the sets "
            f"{', '.join(SETS)}; got {text!r}."
        ) from None
    if len(set(chosen)) < len(chosen) or chosen[-1] >= cells:
        raise ValueError(
            f"the tuple {text!r} must have different cells from 0 to {cells - 1:x} on "
            f"{_times(shape)}."
        )
    return chosen


def _times(shape: tuple[int, int]) -> str:
    return f"{shape[0]}×{shape[1]}"
