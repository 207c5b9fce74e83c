"""Randomness of torch and Stable-Baselines3 that follows from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def seeded(*seed: int) -> Iterator[None]:
    """Let everything that torch and SB3 draw follow from a seed, and nothing else.

    Both draw from generators that are global, SB3 from numpy's; they are put back afterwards.
    """
    before = np.random.get_state()  # noqa: NPY002
    words = np.random.SeedSequence(seed).generate_state(2)
    with torch.random.fork_rng():
        torch.manual_seed(int(words[0]))
        np.random.seed(words[1])  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002
