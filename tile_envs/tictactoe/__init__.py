"""Tic-tac-toe: its positions solved, opponents, the game as a value, environments, pictures."""

from tile_envs.tictactoe.env import TicTacToeEnv, TicTacToeInfo, TicTacToeVectorEnv
from tile_envs.tictactoe.game import State, TicTacToe, transitions
from tile_envs.tictactoe.positions import afterstates, legal_actions

__all__ = [
    "State",
    "TicTacToe",
    "TicTacToeEnv",
    "TicTacToeInfo",
    "TicTacToeVectorEnv",
    "afterstates",
    "legal_actions",
    "transitions",
]
