"""Tic-tac-toe: its positions solved, opponents, the game as a value, environments, pictures."""

from tile_envs.tictactoe.env import TicTacToeEnv, TicTacToeVectorEnv
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import afterstates, legal_actions
from tile_envs.tictactoe.transitions import transitions

__all__ = [
    "TicTacToe",
    "TicTacToeEnv",
    "TicTacToeVectorEnv",
    "afterstates",
    "legal_actions",
    "transitions",
]
