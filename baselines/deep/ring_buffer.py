"""A replay buffer of arrays, for the learners that are not built on Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class RingBuffer:
    """The newest transitions, in one array for each of their parts.

    Args:
        size: Number of transitions that there is room for.
        **parts: The dtype and the shape of each part of a transition.

    Attributes:
        arrays: The parts by name, `(size, ...)`; transition number n is at `n % size`.
        stored: Number of transitions that have been stored, those that were replaced included.
    """

    def __init__(self, size: int, **parts: tuple[DTypeLike, tuple[int, ...]]) -> None:
        self.arrays = {
            name: np.zeros((size, *shape), dtype) for name, (dtype, shape) in parts.items()
        }
        self.stored = 0
        self._size = size

    def __len__(self) -> int:
        return min(self.stored, self._size)

    def store(self, **parts: NDArray[Any]) -> None:
        """Store transitions, `(n, ...)` for each part, in place of the oldest."""
        numbers = self.stored + np.arange(len(next(iter(parts.values()))))
        for name, values in parts.items():
            self.arrays[name][numbers % self._size] = values
        self.stored += len(numbers)

    def take(self, numbers: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return transitions by their numbers `(n,)`, counted from the first ever stored."""
        return {name: values[numbers % self._size] for name, values in self.arrays.items()}

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return all arrays and the number of stored transitions."""
        return {**self.arrays, "stored": np.array(self.stored)}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state_dict` returned."""
        for name, values in self.arrays.items():
            values[...] = state[name]
        self.stored = int(state["stored"])
