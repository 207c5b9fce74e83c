"""Who draws which seeds, so that no game is used both for training and for evaluation.

| use | seeds of the games |
|---|---|
| training | words of numpy generators, seeded with the run's seed and the iteration |
| tests during training | from `TEST_SEED` on |
| evaluation | words of the evaluation's random stream (`game_seeds`) |
"""

from __future__ import annotations

import numpy as np

from tile_envs.random_stream import Words, ahead, mix, start

TEST_SEED = 1 << 32
"""The first seed of tests during training, beyond the seeds that evaluations are usually given."""


def game_seeds(seed: int, games: int) -> Words:
    """Return the seeds, `(games,) uint64`, of the games of one evaluation.

    The seed of game k is the k-th word of the evaluation's random stream, so that evaluations with
    two seeds share no game.
    """
    return mix(ahead(np.array(start(seed), np.uint64), games))


def training_seeds(seed: int, *iteration: int, games: int) -> Words:
    """Return the seeds, `(games,) uint64`, of the games of one iteration of learning."""
    rng = np.random.default_rng([seed, *iteration])
    return rng.integers(1 << 64, size=games, dtype=np.uint64)
