"""Gymnasium environments for 2048, 2584 and tic-tac-toe.

Importing the package registers `Tiles2048-v0`, `Tiles2584-v0` and `TicTacToe-v0`, each with a
native vector environment:

    >>> import gymnasium as gym, tile_envs
    >>> env = gym.make("Tiles2048-v0")
    >>> envs = gym.make_vec("Tiles2584-v0", num_envs=4)
"""

from gymnasium.envs.registration import register

__version__ = "0.2.0"

_FOLDERS = {"Tiles2048": "sliding", "Tiles2584": "sliding", "TicTacToe": "tictactoe"}
for _name, _folder in _FOLDERS.items():
    register(
        id=f"{_name}-v0",
        entry_point=f"tile_envs.{_folder}:{_name}Env",
        vector_entry_point=f"tile_envs.{_folder}:{_name}VectorEnv",
    )
