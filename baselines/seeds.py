"""Who draws which seeds, so that no game serves two purposes.

| use | the seeds of its games |
|---|---|
| training | words of a generator for each iteration (`training_generator`, `training_stream`) |
| tests during training | words of a random stream (`game_seeds`), the same in every run |
| recording | words of a random stream for each seed |
| evaluation | words of another random stream for each seed |

A game's seed is a word of 64 bits, and no two of these draw from the same generator or stream.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tile_envs.base.random_stream import WORD_MASK, Words, ahead, mix, start

Use = Literal["evaluation", "test", "recording"]

KEYS: dict[Use, int] = {
    "evaluation": 0,
    "test": 0x6A09E667F3BCC908,
    "recording": 0xBB67AE8584CAA73B,
}
"""What is added to the start of a stream: digits of the square roots of 2 and 3."""


def game_seeds(seed: int, games: int, use: Use = "evaluation") -> Words:
    """Return the seeds, `(games,) uint64`, of a list of games.

    The seed of game k is the k-th word of a random stream, so that lists with two seeds, or for two
    uses, share no game.
    """
    position = start(seed) + KEYS[use] & WORD_MASK
    return mix(ahead(np.array(position, np.uint64), games))


def training_generator(seed: int, *iteration: int) -> np.random.Generator:
    """Return the generator of all that an iteration of learning draws, its games' seeds included.

    Args:
        seed: The run's seed.
        *iteration: The number of the iteration, and that of a part of it if there are several.
    """
    return np.random.default_rng([seed, *iteration])


def training_seeds(rng: np.random.Generator, games: int) -> Words:
    """Draw the seeds, `(games,) uint64`, of games that are learned from."""
    return rng.integers(1 << 64, size=games, dtype=np.uint64)


def training_stream(seed: int) -> int:
    """Return the seed of games that go on from one iteration to the next."""
    return int(mix(np.array(start(seed), np.uint64)) >> np.uint64(1))
