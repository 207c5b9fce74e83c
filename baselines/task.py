"""What is played, as one value: an environment, its options, and the sides that are learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gymnasium as gym

import tile_envs  # noqa: F401 # registers the games
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import ids, make, resolve_id

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
        """Return the task that a person asks for.

        Args:
            env_id: The environment's id; `my_module:Id` imports the module first.
            env_kwargs: The environment's options.
            side: In a game with sides, one of them or "both".

        Raises:
            ValueError: If the environment, an option or the side is unusable.
        """
        name = resolve_id(env_id)
        try:
            gym.spec(name)  # Gymnasium's own error names the ids that come near
        except gym.error.UnregisteredEnv as error:
            hint = f"If a module of yours registers it, say so: --import MODULE, or MODULE:{name}."
            raise UsageError(f"{error} {hint}") from None
        if name not in ids():
            raise UsageError(f"{name} is not an environment of this package.")
        task = cls(name, dict(env_kwargs or {}))
        sides = task.game.sides
        if not sides and side != BOTH:
            raise UsageError(f"side is for games with two, such as tic-tac-toe, got {side!r}.")
        if sides and side not in (*sides, BOTH):
            raise UsageError(f"side must be {', '.join(sides)} or both, got {side!r}.")
        return cls(name, task.env_kwargs, sides if side == BOTH else (side,))

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Task:
        """Return the task that `to_dict` wrote.  It never imports a module that only a file names.

        Raises:
            ValueError: If the environment is not registered, or does not take the options.
        """
        task = cls(entries["env"], entries["env_kwargs"], tuple(entries["sides"]))
        if task.game.sides and not task.sides:
            raise UsageError(f"{task.env} has sides, and none is named.")
        if unknown := set(task.sides) - set(task.game.sides):
            raise UsageError(f"{task.env} has no side {unknown.pop()!r}.")
        return task

    def to_dict(self) -> dict[str, Any]:
        """Return the task as JSON can write it."""
        return {"env": self.env, "env_kwargs": dict(self.env_kwargs), "sides": list(self.sides)}

    @cached_property
    def game(self) -> Game:
        """The game that the environment plays.

        Raises:
            ValueError: If there is no such environment, or it does not take the options.
        """
        game: Game = make(self.env, self.env_kwargs).game
        return game
