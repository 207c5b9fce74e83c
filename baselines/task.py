"""What is played, as one value: an environment, its options, and the sides that are learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tile_envs.base.checks import checked_mapping
from tile_envs.errors import UsageError
from tile_envs.game import Game, describe
from tile_envs.games import make, resolve_id

BOTH = "both"


@dataclass(frozen=True)
class Task:
    """What an agent plays.

    Attributes:
        env: The environment's id.
        env_kwargs: Its options, as `gym.make` takes them.
        sides: The sides that are learned or evaluated, such as "X" and "O" in tic-tac-toe; none in
            a game of one player.
    """

    env: str
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    sides: tuple[str, ...] = ()

    @classmethod
    def of(cls, env_id: str, env_kwargs: Mapping[str, Any] | None = None, side: str = BOTH) -> Task:
        """Return the task that a person asks for, of one of a game's sides or "both".

        The id may be `my_module:Id`, which imports the module first.
        """
        options = checked_mapping(env_kwargs, "env_kwargs")
        task = cls(resolve_id(env_id), options)
        sides = task.game.sides
        if side not in (*sides, BOTH):
            raise UsageError(f"{task.env} has no side {side!r}: expected {(*sides, BOTH)}.")
        return replace(task, sides=sides if side == BOTH else (side,))

    @property
    def key(self) -> tuple[Any, ...]:
        """What tasks share that are played alike, however their options are written."""
        env = make(self.env, self.env_kwargs)
        return self.env, describe(env.game), env.max_illegal, env.max_episode_steps

    @cached_property
    def game(self) -> Game:
        """The game that the environment plays."""
        game: Game = make(self.env, self.env_kwargs).game
        return game
