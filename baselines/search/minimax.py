"""Minimax for tic-tac-toe: the game is small enough to be solved once and looked up ever after.

The values are those of the environment's own opponents (`tile_envs.tictactoe.positions`): the
result when both sides play perfectly.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from baselines.agent import Observations, StochasticAgent, shared
from tile_envs.tictactoe.env import TicTacToeEnv
from tile_envs.tictactoe.opponents import NAMED
from tile_envs.tictactoe.positions import CELLS, encode_seen


class MinimaxAgent(StochasticAgent):
    """Plays perfectly, and chooses uniformly among the best cells."""

    policy = "minimax"

    def __init__(self, env: gym.Env[Any, Any], seed: int = 0) -> None:
        super().__init__(env, seed)
        if not isinstance(env.unwrapped, TicTacToeEnv):
            raise ValueError(f"minimax plays TicTacToe-v0 only, not {env}.")
        self._sets = NAMED[self.policy]()

    def action_probabilities(self, observations: Observations) -> NDArray[np.float64]:
        """Share the probability among the cells that the policy allows."""
        sets = self._sets[encode_seen(observations)]
        return shared(sets[:, None] >> np.arange(CELLS) & 1)


class MinimaxFirstAgent(MinimaxAgent):
    """Plays perfectly, the first of the best cells."""

    policy = "minimax_first"
