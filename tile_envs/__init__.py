"""Gymnasium environments for 2048, 2584 and tic-tac-toe.

Importing the package registers `Tiles2048-v0`, `Tiles2584-v0` and `TicTacToe-v0`, each with a
native vector environment:

    >>> import gymnasium as gym, tile_envs
    >>> env = gym.make("Tiles2048-v0")
    >>> envs = gym.make_vec("Tiles2584-v0", num_envs=4)
"""

from gymnasium.envs.registration import register

__version__ = "0.1.0"

register(
    id="Tiles2048-v0",
    entry_point="tile_envs.sliding:Tiles2048Env",
    vector_entry_point="tile_envs.sliding:Tiles2048VectorEnv",
)
register(
    id="Tiles2584-v0",
    entry_point="tile_envs.sliding:Tiles2584Env",
    vector_entry_point="tile_envs.sliding:Tiles2584VectorEnv",
)
register(
    id="TicTacToe-v0",
    entry_point="tile_envs.tictactoe:TicTacToeEnv",
    vector_entry_point="tile_envs.tictactoe:TicTacToeVectorEnv",
)
