"""How torch computes (threads, random numbers), and its tensors in checkpoints."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import numpy as np
import torch
from pydantic import StringConstraints

from baselines.seeds import Use, seed_sequence
from baselines.training.learner import State

Device = Annotated[str, StringConstraints(pattern=r"^(auto|cpu|cuda(:\d{1,3})?)$")]
SMALLEST = 5e-324  # a denormal number, which equals zero where these are flushed


@contextmanager
def torch_threads(threads: int, learning: bool = False) -> Iterator[None]:
    """Compute with a number of torch's threads inside a `with` block.

    Learning flushes denormal numbers to zero: moments of weights that no longer change decay
    through them, and their square roots take thirty times as long.  Threads that torch starts
    meanwhile, and keeps, go on flushing them; with one, it starts none.
    """
    before, flushed = torch.get_num_threads(), SMALLEST == 0
    torch.set_flush_denormal(learning or flushed)  # first: threads that start later inherit it
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.set_flush_denormal(flushed)


@contextmanager
def seed_generators(seed: int, use: Use, *iteration: int) -> Iterator[None]:
    """Seed the global generators of torch and SB3 (numpy's); afterwards they are as before."""
    before = np.random.get_state()  # noqa: NPY002
    words = seed_sequence(seed, use, *iteration).generate_state(2)
    with torch.random.fork_rng():
        torch.manual_seed(int(words[0]))
        np.random.seed(words[1])  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002


def zeroed(state: State, *words: str) -> State:
    """Return a state with zeros where a name has one of these words; playing needs none of them."""
    return {n: np.zeros_like(a) if {*words} & {*n.split()} else a for n, a in state.items()}
