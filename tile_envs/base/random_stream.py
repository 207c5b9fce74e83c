"""Counter-based random numbers: one SplitMix64 stream per game.

A game's k-th random word is a fixed mix of the game's key and k, so a game is reproduced by its
seed and its actions alone, by itself or among thousands.  What is kept is the stream's *position*,
`key + k * STRIDE` modulo 2**64.

Reference: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import as_array, brief, checked_integer
from tile_envs.errors import UsageError

Words = NDArray[np.uint64]

WORD_MASK, LOW_HALF = 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF
STRIDE = 0x9E3779B97F4A7C15
"""The golden ratio in 64-bit fixed point, by which a position moves for each word drawn."""

MIX_SHIFTS = 30, 27, 31  # by which SplitMix64 mixes a position
MIX_FACTORS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

# Constants as 0-d arrays: numpy takes half of the time that it needs for numbers.
_STRIDE = np.array(STRIDE, np.uint64)
_SHIFTS = [np.array(shift, np.uint64) for shift in MIX_SHIFTS]
_FACTORS = [np.array(factor, np.uint64) for factor in MIX_FACTORS]
_HALF, _LOW_HALF = np.array(32, np.uint64), np.array(LOW_HALF, np.uint64)


def mix(positions: Words) -> Words:
    """Return the random words, `(...) uint64`, that belong to stream positions `(...)`."""
    words = positions >> _SHIFTS[0]
    words ^= positions
    words *= _FACTORS[0]
    words ^= words >> _SHIFTS[1]
    words *= _FACTORS[1]
    words ^= words >> _SHIFTS[2]
    return words


starts = mix
"""Returns the first stream positions of the games with these seeds, `(...) uint64`."""


def start(seed: int) -> int:
    """Return the first stream position of a game; seeds count modulo 2**64."""
    return int(starts(np.array([seed & WORD_MASK], np.uint64))[0])


def checked_seeds(seeds: Any, least: float = -math.inf) -> Words:
    """Return a list or an array of seeds, integers from `least` on, modulo 2**64 as `uint64`."""
    array = as_array(seeds)
    if array.ndim != 1:
        raise UsageError(f"seeds must be a list of integers, got {brief(seeds)}.")
    if array is seeds and array.dtype.kind in "iu" and array.min(initial=0) >= least:
        return np.asarray(array, np.uint64)
    # One by one: numpy makes floats of a list of integers that need 64 bits.
    numbers = (checked_integer(seed, "seed", least, math.inf) for seed in seeds)
    return np.array([number & WORD_MASK for number in numbers], np.uint64)


def seeds_of(positions: Words) -> Words:
    """Return the seeds of games by the first positions of their streams: `starts` backwards."""
    for shift, factor in zip(MIX_SHIFTS[::-1], (*MIX_FACTORS[::-1], 1), strict=True):
        half, whole = np.uint64(shift), np.uint64(2 * shift)
        positions = positions ^ positions >> half ^ positions >> whole  # three shifts leave nothing
        positions = positions * np.uint64(pow(factor, -1, 1 << 64))
    return positions


def consecutive(seed: int, n: int) -> Words:
    return np.arange(n, dtype=np.uint64) + np.uint64(seed & WORD_MASK)


def seeds(seed: int, n: int) -> Words:
    """Return the seeds of n games, `(n,) uint64`, for `reset(seed=...)` of vector environments.

    Lists with different `seed` share no game: they are `seed * 2**32` and what follows.  `seed` is
    less than 2**32, `n` 1 to 2**32; else a `ValueError` says so.

    Examples:
        >>> seeds(0, 3), seeds(1, 2)
        (array([0, 1, 2], dtype=uint64), array([4294967296, 4294967297], dtype=uint64))
    """
    seed = checked_integer(seed, "seed", most=WORD_MASK >> 32)
    return consecutive(seed << 32, checked_integer(n, "n", least=1, most=1 << 32))


def ahead(positions: Words, draws: int) -> Words:
    """Return the positions of the next draws, `(draws, ...)`."""
    steps = np.arange(1, draws + 1, dtype=np.uint64) * _STRIDE
    return positions + steps.reshape(-1, *(1,) * positions.ndim)


def choose(words: Words, n: Words) -> Words:
    """Turn the high halves of random words into indices below n, uniform up to `n / 2**32`."""
    return ((words >> _HALF) * n) >> _HALF


def thresholds(probabilities: Sequence[float]) -> tuple[int, ...]:
    """Cumulative thresholds of probabilities in [0, 2**32), without the last one's."""
    return tuple(round(p * 2**32) for p in np.cumsum(probabilities[:-1]))


def pick(words: Words, thresholds: Sequence[Words]) -> NDArray[np.int8]:
    """Turn the low halves of random words into indices, by cumulative thresholds up to 2**32."""
    if not thresholds:
        return np.zeros(words.shape, np.int8)
    low, (first, *others) = words & _LOW_HALF, thresholds
    index = (low >= first).view(np.int8)
    for threshold in others:
        index += low >= threshold
    return index


class Stream:
    """The stream of one game, word by word, from a position on."""

    _BLOCK = 64  # numpy mixes 64 words in the time that Python's integers take for twenty

    def __init__(self, position: int) -> None:
        self._end = position  # the position after the words that are mixed already
        self._words: list[int] = []

    @property
    def position(self) -> int:
        return self._end - len(self._words) * STRIDE & WORD_MASK

    def word(self) -> int:
        return self._words.pop() if self._words else self._mixed().pop()

    def peek(self) -> int:
        """Return the next random word without drawing it."""
        return (self._words or self._mixed())[-1]

    def _mixed(self) -> list[int]:
        positions = ahead(np.array(self._end, np.uint64), self._BLOCK)
        self._end = int(positions[-1])
        self._words = mix(positions)[::-1].tolist()
        return self._words
