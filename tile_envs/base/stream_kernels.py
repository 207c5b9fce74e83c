"""Primitives for compiled loops: the words of random streams; see `random_stream`.

All words are `uint64`: numba would turn a mix with signed integers into floats, and it guards every
signed index against being negative.
"""

from __future__ import annotations

import numpy as np

from tile_envs.base import random_stream
from tile_envs.base.compiled import compiled

Word = np.uint64

ONE, HALF = Word(1), Word(32)
NEXT = Word(random_stream.STRIDE)
MIX_FACTORS = tuple(map(Word, random_stream.MIX_FACTORS))
MIX_SHIFTS = tuple(map(Word, random_stream.MIX_SHIFTS))


@compiled
def mixed(position: Word) -> Word:
    """Return the random word of a stream position; see `tile_envs.base.random_stream.mix`."""
    word = (position ^ position >> MIX_SHIFTS[0]) * MIX_FACTORS[0]
    word = (word ^ word >> MIX_SHIFTS[1]) * MIX_FACTORS[1]
    return word ^ word >> MIX_SHIFTS[2]
