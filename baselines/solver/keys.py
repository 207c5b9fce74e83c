"""Boards of small sliding games as keys: one word a board, symmetric boards merged.

A key is a board's cells, 5 bits each, row by row, the first one lowest: up to 12 cells.  Of a board
and its images under the symmetries, the lowest key stands for all of them.

The *age* of a board is the sum of the ages of its tiles, with which merges add up: the age of a
merged tile is the sum of those it is made of.  So a move keeps the age, and a new tile raises it,
and boards can be listed age by age (Kaneko and Yamashita, "Strongly solving 2048 4x3", 2025, in
which it is the sum of the faces).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.compiled import Word, compiled, compiled_loop
from tile_envs.base.random_stream import Words
from tile_envs.errors import UsageError
from tile_envs.sliding.kernels import CELL, CELL_IN_LINE, GameTables, Lines, transposed
from tile_envs.sliding.rules import Rules
from tile_envs.sliding.tables import CELL_BITS

MOST_CELLS = 64 // CELL_BITS
"""The most cells of a board that has a key."""

ABSENT = -1
"""The place of a key that is not in a list."""

_SECOND, _THIRD, _FOURTH = (Word(i * CELL_BITS) for i in (1, 2, 3))


@cache
def tile_ages(rules: Rules) -> NDArray[np.int64]:
    """Return the age of each tile index, `(tiles + 1,)`.

    A tile that no merge makes has age 1, unless the faces themselves add up in all merges.

    Raises:
        ValueError: If no such ages exist: merges make the same tile of different sums.
    """
    ages = dict.fromkeys(range(1, rules.largest + 1), 1)
    made = {c for _, _, c in rules.merges}
    for _ in made:  # an age is settled once those of its parts are
        for a, b, c in rules.merges:
            ages[c] = ages[a] + ages[b]
    for candidate in (ages, dict(enumerate(rules.faces))):
        if all(candidate[a] + candidate[b] == candidate[c] for a, b, c in rules.merges):
            factor = math.gcd(*(candidate[tile] for tile in ages))
            return np.array([0, *(candidate[tile] // factor for tile in ages)])
    raise UsageError(
        f"{rules.name} cannot be solved: its merges have no ages that add up, such as the faces of "
        "2048 do, so that its boards cannot be listed in the order of play."
    )


@compiled
def lines_of(game: GameTables, key: Word) -> Lines:
    """Return the rows of a key."""
    width = Word(game.columns) * CELL
    mask = (Word(1) << width) - Word(1)
    a, b = key & mask, key >> width & mask
    if game.rows == 2:
        return a, b, Word(0), Word(0)
    c = key >> Word(2) * width & mask
    if game.rows == 3:
        return a, b, c, Word(0)
    return a, b, c, key >> Word(3) * width


@compiled
def key_of(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return the key of a board, given by its rows: the lowest among those of its images."""
    lowest = _lowest(game, a, b, c, d)
    if game.square:
        a, b, c, d = transposed(a, b, c, d)
        lowest = min(lowest, _lowest(game, a, b, c, d))
    return lowest


@compiled
def _lowest(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return the lowest key of a board, as it is, mirrored, upside down, and both."""
    p, q, r, s = _mirrored(game, a), _mirrored(game, b), _mirrored(game, c), _mirrored(game, d)
    return min(
        min(_downwards(game, a, b, c, d), _upwards(game, a, b, c, d)),
        min(_downwards(game, p, q, r, s), _upwards(game, p, q, r, s)),
    )


@compiled
def _downwards(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return rows in one word, the first one lowest."""
    width = Word(game.columns) * CELL
    low = a | b << width
    if game.rows > 2:
        low |= c << Word(2) * width
    if game.rows > 3:
        low |= d << Word(3) * width
    return low


@compiled
def _upwards(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return rows in one word, the last one lowest."""
    if game.rows == 2:
        return _downwards(game, b, a, c, d)
    if game.rows == 3:
        return _downwards(game, c, b, a, d)
    return _downwards(game, d, c, b, a)


@compiled
def _mirrored(game: GameTables, row: Word) -> Word:
    """Return a row from its last cell to its first."""
    first, second = row & CELL_IN_LINE, row >> _SECOND & CELL_IN_LINE
    third, fourth = row >> _THIRD & CELL_IN_LINE, row >> _FOURTH
    mirrored = first << _FOURTH | second << _THIRD | third << _SECOND | fourth
    return mirrored >> Word(4 - game.columns) * CELL


@compiled
def find(keys: Words, begin: int, end: int, key: Word) -> int:
    """Return the place of a key among the rising `keys[begin:end]`, or `ABSENT`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < end and keys[low] == key else ABSENT


@compiled_loop
def keys_of(game: GameTables, rows: Words) -> Words:
    """Return the keys of boards, given by their rows `(n, 4)`."""
    keys = np.zeros(len(rows), np.uint64)
    for i in range(len(rows)):
        keys[i] = key_of(game, rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3])
    return keys


@compiled_loop
def places_of(
    keys: Words, begins: NDArray[np.int64], wanted: Words, ages: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the places of boards in a list by age, `ABSENT` for those that it lacks.

    Args:
        keys: The list, `(n,)`; the keys of one age are rising.
        begins: `(ages + 1,)`, where those of each age begin, and where the last end.
        wanted: The keys of the boards, `(m,)`.
        ages: Their ages, `(m,)`.
    """
    places = np.full(len(wanted), ABSENT)
    for i in range(len(wanted)):
        age = ages[i]
        if age < len(begins) - 1:
            places[i] = find(keys, begins[age], begins[age + 1], wanted[i])
    return places


def distinct(keys: Words) -> Words:
    """Return the different keys, rising; `keys` are sorted in place."""
    keys.sort()
    if not len(keys):
        return keys
    return keys[np.concatenate(([True], keys[1:] != keys[:-1]))]


@compiled_loop
def count_boards(game: GameTables, keys: Words) -> int:
    """Return how many boards keys stand for: all different images of each."""
    total = 0
    for key in keys:
        a, b, c, d = lines_of(game, key)
        images, same = 0, 0
        for _ in range(2 if game.square else 1):
            for _ in range(2):
                same += _downwards(game, a, b, c, d) == key
                same += _upwards(game, a, b, c, d) == key
                images += 2
                a, b = _mirrored(game, a), _mirrored(game, b)
                c, d = _mirrored(game, c), _mirrored(game, d)
            a, b, c, d = transposed(a, b, c, d)
        total += images // same
    return total
