"""Who draws what from a seed, so that no game and no random number serves two purposes.

| use | what it draws |
|---|---|
| training | games, exploration and samples, from a generator for each iteration |
| test | the games of tests during training, the same in every run |
| recording | the games of recordings |
| evaluation | the games of evaluations |
| questions | the boards of questions for the best move |
| weights | the initial weights of networks, by torch |
| updates | what torch and Stable-Baselines3 draw in an iteration: exploration and minibatches |

An agent that draws its actions without learning has `numpy.random.default_rng(seed)`.
"""

import hashlib
from typing import Literal

import numpy as np

from tile_envs.base.random_stream import WORD_MASK, Words, ahead, mix, start

Use = Literal["evaluation", "test", "recording", "questions", "weights", "updates"]
KEYS: dict[Use, int] = {
    "evaluation": 0,
    "test": 0x6A09E667F3BCC908,
    "recording": 0xBB67AE8584CAA73B,
    "questions": 0xA54FF53A5F1D36F1,
    "weights": 0,  # only torch draws weights, and it draws nothing else from this sequence
    "updates": 0x3C6EF372FE94F82B,
}
"""What tells the streams of a seed apart: digits of square roots of primes."""


def game_seeds(seed: int, games: int, use: Use = "evaluation") -> Words:
    """Return the seeds, `(games,) uint64`, of a list of games, which shares none with another."""
    position = start(_within(seed, 64)) + KEYS[use] & WORD_MASK
    return mix(ahead(np.array(position, np.uint64), games))


def seed_sequence(seed: int, use: Use, *iteration: int) -> np.random.SeedSequence:
    """Return what seeds the generators of a use, and of one iteration of it."""
    return np.random.SeedSequence([_within(seed, 32), KEYS[use], *iteration])


def training_generator(seed: int, *iteration: int) -> np.random.Generator:
    """Return the generator of all that an iteration draws, or, with two numbers, a part of it."""
    return np.random.default_rng([_within(seed, 32), *iteration])


def training_seeds(rng: np.random.Generator, games: int) -> Words:
    """Draw the seeds, `(games,) uint64`, of games that are learned from."""
    return rng.integers(1 << 64, size=games, dtype=np.uint64)


def training_stream(seed: int) -> int:
    """Return the seed of games that go on from one iteration to the next."""
    return int(mix(np.array(start(_within(seed, 64)), np.uint64)) >> np.uint64(1))


def _within(seed: int, bits: int) -> int:
    """Return a seed of so many bits as it is, and a hash of a longer one."""
    # To numpy, a seed of two words is a shorter one with the number of an iteration after it.
    if seed < 1 << bits:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed:x}".encode()).digest()[:16], "big")
