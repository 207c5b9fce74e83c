"""Gymnasium environments for 2048, 2584 and tic-tac-toe.

Importing the package registers `Tiles2048-v0`, `Tiles2584-v0` and `TicTacToe-v0`, each with a
native vector environment:

    >>> import gymnasium as gym, tile_envs
    >>> env = gym.make("Tiles2048-v0")
    >>> envs = gym.make_vec("Tiles2584-v0", num_envs=4)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register

if TYPE_CHECKING:
    from tile_envs.base.random_stream import seeds as seeds
    from tile_envs.game import Game as Game
    from tile_envs.game import Replies as Replies
    from tile_envs.game import Step as Step
    from tile_envs.sliding import RULES_2048 as RULES_2048
    from tile_envs.sliding import RULES_2584 as RULES_2584
    from tile_envs.sliding import Rules as Rules
    from tile_envs.sliding import SlidingGame as SlidingGame
    from tile_envs.sliding import SlidingInfo as SlidingInfo
    from tile_envs.sliding import register_game as register_game
    from tile_envs.tictactoe import TicTacToe as TicTacToe
    from tile_envs.tictactoe import TicTacToeInfo as TicTacToeInfo

__version__ = "1.0.0"

_FOLDERS = {"Tiles2048": "sliding", "Tiles2584": "sliding", "TicTacToe": "tictactoe"}
for _name, _folder in _FOLDERS.items():
    register(
        id=f"{_name}-v0",
        entry_point=f"tile_envs.{_folder}:{_name}Env",
        vector_entry_point=f"tile_envs.{_folder}:{_name}VectorEnv",
    )

_EXPORTS = {
    "base.random_stream": ["seeds"],
    "game": ["Game", "Replies", "Step"],
    "sliding": ["RULES_2048", "RULES_2584", "Rules", "SlidingGame", "SlidingInfo", "register_game"],
    "tictactoe": ["TicTacToe", "TicTacToeInfo"],
}
_HOMES = {name: f"tile_envs.{home}" for home, names in _EXPORTS.items() for name in names}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    # Imported on first use: to register the environments takes a hundredth of the time.
    if name not in _HOMES:
        raise AttributeError(f"module 'tile_envs' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
