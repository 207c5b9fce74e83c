"""The sliding games: rules, tables, games as values, environments, pictures."""

from tile_envs.sliding.env import (
    SlidingEnv,
    SlidingInfo,
    SlidingVectorEnv,
    Tiles2048Env,
    Tiles2048VectorEnv,
    Tiles2584Env,
    Tiles2584VectorEnv,
    register_game,
)
from tile_envs.sliding.game import SlidingGame, State, afterstates, legal_actions
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, RULES_2048, RULES_2584, UP, Palette, Rules

__all__ = [
    "DOWN",
    "LEFT",
    "RIGHT",
    "RULES_2048",
    "RULES_2584",
    "UP",
    "Palette",
    "Rules",
    "SlidingEnv",
    "SlidingGame",
    "SlidingInfo",
    "SlidingVectorEnv",
    "State",
    "Tiles2048Env",
    "Tiles2048VectorEnv",
    "Tiles2584Env",
    "Tiles2584VectorEnv",
    "afterstates",
    "legal_actions",
    "register_game",
]
