"""The agents that need no training, behind the seam that all agents share.

An agent is anything with Stable-Baselines3's `predict`, batched (`tile_envs.agents.Agent`), so that
SB3's `evaluate_policy` takes ours, and our judge takes any SB3 model.  Stochastic agents also say
how they choose, `action_probabilities(observations) -> (n, actions)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Observations = NDArray[Any]

BOARD_AXES = 2
"""Rows and columns: one board, not a batch."""


class StochasticAgent(ABC):
    """Draws actions from the probabilities that a subclass gives them.

    Args:
        env: An environment of the game that is played; its rules are asked, its games are not.
        seed: Starts the agent's own random numbers.
    """

    def __init__(self, env: gym.Env[Any, Any], seed: int = 0) -> None:
        self._game: Any = env.unwrapped
        self._rng = np.random.default_rng(seed)

    @abstractmethod
    def action_probabilities(self, observations: Observations) -> NDArray[np.float64]:
        """Return the probability of each action, `(n, actions)`, all zero where none is legal."""

    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Draw an action for each observation.

        Args:
            observation: `(n, ...)`, as the environment's vector form gives them.
            state: Returned as it is.
            episode_start: Not used.
            deterministic: Not used: there is no other way of playing these agents.

        Returns:
            Actions `(n,) int64`, 0 where none is legal; and `state`.
        """
        cumulative = self.action_probabilities(observation).cumsum(axis=1)
        drawn = self._rng.random(len(cumulative)) * cumulative[:, -1]
        return (cumulative > drawn[:, None]).argmax(axis=1), state


class ValueAgent(ABC):
    """Plays the action that is worth most, by what a subclass says."""

    @abstractmethod
    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return what each action is worth, `(n, actions)`; minus infinity for illegal ones."""

    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Return the first best action for each observation `(n, ...)`, and `state`.

        As with SB3's models, a single observation gets a single action.
        """
        if np.ndim(observation) == BOARD_AXES:
            return self.values(np.asarray(observation)[None]).argmax(axis=1)[0], state
        return self.values(observation).argmax(axis=1), state


class RandomAgent(StochasticAgent):
    """Plays any legal action, all with the same probability."""

    def action_probabilities(self, observations: Observations) -> NDArray[np.float64]:
        """Share the probability among the legal actions."""
        return shared(self._game.legal_actions(observations))


class GreedyAgent(StochasticAgent):
    """Plays the action with the highest immediate reward; ties are broken uniformly."""

    def action_probabilities(self, observations: Observations) -> NDArray[np.float64]:
        """Share the probability among the legal actions of the highest reward."""
        _, rewards, masks = self._game.afterstates(observations)
        rewards = np.where(masks, rewards, -1)
        best = rewards == rewards.max(axis=1, keepdims=True)
        return shared(best & masks.astype(np.bool_))


def shared(among: NDArray[Any]) -> NDArray[np.float64]:
    """Share the probability of each row evenly among its marked actions, if there are any."""
    shares: NDArray[np.float64] = among / np.maximum(among.sum(axis=1, keepdims=True), 1)
    return shares
