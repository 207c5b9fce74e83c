"""Games played side by side to be learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from tile_envs.random_stream import Words

Choose = Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[np.int64]]
"""Takes observations `(n, ...)` and masks `(n, actions)`, returns actions `(n,)`."""


@dataclass(frozen=True, eq=False)
class Episodes:
    """What n games went through in T steps, each up to its end.

    Attributes:
        observations: `(T, n, ...)`, what was seen before each action.
        actions: `(T, n) int64`.
        rewards: `(T, n) float64`, what each action brought.
        playing: `(T, n) bool`, whether the game was still on.
    """

    observations: NDArray[Any]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    playing: NDArray[np.bool_]

    @property
    def returns(self) -> NDArray[np.float64]:
        """The sum of each game's rewards, `(n,)`."""
        returns: NDArray[np.float64] = (self.rewards * self.playing).sum(axis=0)
        return returns


def collect(envs: Any, seeds: Words, choose: Choose) -> Episodes:
    """Play one game on each place of a vector environment, all to their ends.

    Args:
        envs: A native vector environment of `tile_envs` that resets itself.
        seeds: Those of the games, `(num_envs,) uint64`.
        choose: The policy.
    """
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    observations, infos = envs.reset(seed=seeds)
    playing = np.ones(envs.num_envs, np.bool_)
    steps: list[tuple[NDArray[Any], ...]] = []
    while playing.any():
        actions = choose(observations, infos["action_mask"].astype(np.bool_))
        following, rewards, terminations, truncations, infos = envs.step(actions)
        steps.append((observations, actions, rewards, playing))
        playing = playing & ~(terminations | truncations)
        observations = following
    return Episodes(*map(np.array, zip(*steps, strict=True)))
