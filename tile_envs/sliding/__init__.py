"""The sliding games 2048 and 2584: rules, tables, environments, pictures."""

from tile_envs.sliding.boards import afterstates, legal_actions
from tile_envs.sliding.games import (
    Tiles2048Env,
    Tiles2048VectorEnv,
    Tiles2584Env,
    Tiles2584VectorEnv,
)
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, RULES_2048, RULES_2584, UP, Rules

__all__ = [
    "DOWN",
    "LEFT",
    "RIGHT",
    "RULES_2048",
    "RULES_2584",
    "UP",
    "Rules",
    "Tiles2048Env",
    "Tiles2048VectorEnv",
    "Tiles2584Env",
    "Tiles2584VectorEnv",
    "afterstates",
    "legal_actions",
]
