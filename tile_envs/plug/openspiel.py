"""Agents as bots of OpenSpiel, in its games `tic_tac_toe` and `2048`.

An agent is anything with `predict`: an agent of `baselines`, a model of Stable-Baselines3, or a
class of your own.  It meets OpenSpiel's bots, or plays OpenSpiel's 2048.

The rules of tic-tac-toe are the same.  OpenSpiel 2.0.2 plays 2048 on 4×4 boards and deviates twice:

1. Its game ends when a tile shows `max_tile`, 2048 by default, or after `4 * max_tile` moves, new
   tiles included.  `pyspiel.load_game("2048", {"max_tile": 262144})` ends as ours does.
2. Its `legal_actions` leaves out a move whose only effect is to merge tiles into tiles that the
   previous move has merged, which concerns one position in 17 in random play.  `apply_action` plays
   such a move as the rules demand, and `AgentBot` chooses it if its agent does, but
   `apply_action_with_legality_check` refuses it.

An illegal action changes nothing in both.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.agents import Agent, check_plays, choose_actions
from tile_envs.base.checks import brief, checked_choice
from tile_envs.errors import UsageError, extra
from tile_envs.game import Game
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import SIDE

with extra("openspiel"):
    import pyspiel

GAMES: dict[str, Game] = {"tic_tac_toe": TicTacToe(side="both"), "2048": SlidingGame(RULES_2048)}
"""Our games by OpenSpiel's names for them; actions have the same numbers."""


def game_of(state: pyspiel.State) -> Game:
    """Return our game of a state of OpenSpiel."""
    name = state.get_game().get_type().short_name
    return GAMES[checked_choice(name, "the game of an OpenSpiel state", tuple(GAMES))]


def observation(state: pyspiel.State) -> NDArray[Any]:
    """Return a state of OpenSpiel as our environments observe it.

    These are marks `(3, 3) int8`, as the player to move sees them, or tile indices `(4, 4) uint8`.
    """
    game, tensor = game_of(state), np.array(state.observation_tensor(0), np.int64)
    if isinstance(game, SlidingGame):
        return game.indices(tensor.reshape(game.shape))
    _, noughts, crosses = tensor.reshape(3, SIDE, SIDE)
    marks = (crosses - noughts).astype(np.int8)
    return -marks if marks.sum() else marks  # O moves where X has one mark more


class AgentBot(pyspiel.Bot):  # type: ignore[misc]
    """An agent, without memory of the game, as a bot for every player of both games."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.agent = agent

    def step(self, state: pyspiel.State) -> int:
        if not state.is_player_node():
            raise UsageError("no player moves here: it is a chance node, or the game is over.")
        board, game = observation(state)[None], game_of(state)
        check_plays(self.agent, game)
        masks = game.legal_actions(board)
        (action,), _ = choose_actions(self.agent, board, masks)
        if not masks[0, action]:
            raise UsageError(
                f"the agent {type(self.agent).__name__} played {action}, which is illegal on "
                f"{brief(board[0].tolist())}: let its predict() take action_masks."
            )
        return int(action)

    def restart_at(self, state: pyspiel.State) -> None:
        """Continue from a state: nothing is remembered."""
