"""Minimax for tic-tac-toe: the game is solved once (`tile_envs.tictactoe`) and looked up."""

import numpy as np

from baselines.agents import StochasticAgent, equal_probabilities
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Game, Observations
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.game import NAMED
from tile_envs.tictactoe.positions import CELLS, encode_seen


class MinimaxAgent(StochasticAgent):
    """Plays perfectly, and chooses uniformly among the best cells."""

    policy = "minimax"

    def __init__(self, game: Game, seed: int = 0) -> None:
        super().__init__(game, seed)
        if not isinstance(game, TicTacToe):
            raise UsageError(f"minimax plays TicTacToe-v0 only, not {game}.")
        self._sets = NAMED[self.policy]()

    def action_probabilities(self, observations: Observations) -> Floats:
        sets = self._sets[encode_seen(observations)]
        return equal_probabilities(sets[:, None] >> np.arange(CELLS) & 1)


class MinimaxFirstAgent(MinimaxAgent):
    """Plays perfectly, the first of the best cells."""

    policy = "minimax_first"
