"""Exploration by epsilon-greedy play."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def epsilon_greedy(
    values: NDArray[np.float64],
    masks: NDArray[np.bool_],
    epsilon: float | NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the best action, or with probability epsilon, drawn for each game, any legal one.

    Args:
        values: `(n, actions)`.
        masks: `(n, actions)`, the legal actions.
        epsilon: One number, or one for each game, `(n,)`.
        rng: The source of random numbers.
    """
    drawn = (rng.random(masks.shape) * masks).argmax(axis=1)
    actions: NDArray[np.int64] = np.where(
        rng.random(len(masks)) < epsilon, drawn, values.argmax(axis=1)
    )
    return actions


def stepwise(epsilon: float, decrease: float, every: int, games: int) -> float:
    """Return epsilon after some games, if it decreases in steps, one every few games."""
    return max(0.0, epsilon - decrease * (games // every))
