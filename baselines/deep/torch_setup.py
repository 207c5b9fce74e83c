"""How torch computes (threads, random numbers, device), and its tensors in checkpoints."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import StringConstraints
from stable_baselines3.common.utils import get_device
from torch import Tensor

from baselines.seeds import Use, seed_sequence
from baselines.training.learner import State
from tile_envs.errors import UsageError

Parts = Mapping[str, Mapping[str, Any]]
"""Tensors and arrays of a learner by their names in its parts, such as a network's weights."""
Device = Annotated[str, StringConstraints(pattern=r"^(auto|cpu|cuda(:\d{1,3})?)$")]
SMALLEST = 5e-324
"""A denormal number, which equals zero where these are flushed."""
PART = 2048
"""Boards that a network is given at once: their vectors fit into a processor's cache."""


@contextmanager
def torch_threads(threads: int, learning: bool = False) -> Iterator[None]:
    """Compute with a number of torch's threads inside a `with` block; afterwards it is as before.

    Learning flushes denormal numbers to zero: the optimizer's moments of weights that no longer
    change decay through them, and their square roots take a processor thirty times as long.  The
    threads that torch starts meanwhile, and keeps, go on flushing them; with one, it starts none.
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
    """Seed everything that torch and Stable-Baselines3 draw inside a `with` block.

    Both draw from global generators, SB3 from numpy's.  Their states are restored afterwards.
    """
    before = np.random.get_state()  # noqa: NPY002
    words = seed_sequence(seed, use, *iteration).generate_state(2)
    with torch.random.fork_rng():
        torch.manual_seed(int(words[0]))
        np.random.seed(words[1])  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002


def check_device(device: str) -> None:
    """Raise a `ValueError` if a device, auto, cpu, cuda or cuda:N, is a GPU that torch lacks."""
    kind, _, number = device.partition(":")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise UsageError(
            f"device is {device}, and torch finds {torch.cuda.device_count()} GPUs: "
            "give auto, which takes one if there is one, or cpu."
        )


def resolved(settings: Any) -> Any:
    """Return settings with the device that "auto" is on this machine."""
    is_auto = settings.device == "auto"
    return replace(settings, device=get_device("auto").type) if is_auto else settings


def without(state: State, *labels: str) -> State:
    """Return a state with zeros in the parts of these labels, which playing does not need."""
    words = set(labels)
    return {n: np.zeros_like(a) if words & set(n.split()) else a for n, a in state.items()}


@torch_threads(1)  # the others start when it learns
def moments(optimizer: torch.optim.Optimizer, *names: str) -> dict[str, Tensor]:
    """Return the state of an optimizer such as Adam: the tensors, to be read or replaced.

    Before its first step it has none, and gets that of an optimizer that is about to take it, with
    the moments that are named: tensors of a parameter's shape, which start from zero.
    """
    tensors: dict[str, Tensor] = {}
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    for index, parameter in enumerate(parameters):
        state: dict[str, Tensor] = optimizer.state[parameter]
        if not state:
            state["step"] = torch.zeros((), device=parameter.device)
            state |= {name: torch.zeros_like(parameter) for name in names}
        tensors |= {f"{name} {index}": tensor for name, tensor in state.items()}
    return tensors


def pack_parts(parts: Parts) -> State:
    """Return the tensors and arrays of several parts as arrays, named `part name`.

    These share their memory with arrays and with tensors on a processor.
    """
    return {
        f"{label} {name}": value.cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
        for label, values in parts.items()
        for name, value in values.items()
    }


@torch_threads(1)
def load_parts(parts: Parts, state: Mapping[str, NDArray[Any]]) -> None:
    """Fill the tensors and arrays of several parts from a state that `pack_parts` made."""
    for label, values in parts.items():
        for name, value in values.items():
            # A tensor that is made of an array shares its memory.
            torch.as_tensor(value).copy_(torch.as_tensor(state[f"{label} {name}"]))


def part_of(state: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return one part of a state, by the names in that part."""
    start = f"{label} "
    return {n.removeprefix(start): value for n, value in state.items() if n.startswith(start)}
