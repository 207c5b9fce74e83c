"""Tic-tac-toe: its positions solved, opponents, environments, pictures."""

from tile_envs.tictactoe.env import TicTacToeEnv
from tile_envs.tictactoe.positions import afterstates, legal_actions
from tile_envs.tictactoe.vector import TicTacToeVectorEnv

__all__ = ["TicTacToeEnv", "TicTacToeVectorEnv", "afterstates", "legal_actions"]
