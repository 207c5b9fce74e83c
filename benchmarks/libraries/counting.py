"""Counts steps and illegal actions, whichever library plays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tile_envs.base.env import GameEnv
from tile_envs.base.vector_env import GameVectorEnv


@dataclass
class Count:
    """What has been counted so far.

    Attributes:
        steps: Steps of all games.
        illegal: Illegal actions that reached a game.
    """

    steps: int = 0
    illegal: int = 0


@contextmanager
def counted() -> Iterator[Count]:
    """Count the steps of every environment of this process while the body of `with` runs."""
    count = Count()
    finish_step, advance = GameEnv._finish_step, GameVectorEnv.advance

    def finishing(env: Any, legal: int, terminated: bool) -> bool:
        count.steps += 1
        count.illegal += not legal
        return finish_step(env, legal, terminated)

    def advancing(envs: Any, actions: Any) -> Any:
        outcome = advance(envs, actions)
        count.steps += envs.num_envs
        count.illegal += int(outcome.infos["illegal"].sum())
        if outcome.final is not None:
            count.illegal += int(outcome.final.infos["illegal"].sum())
        return outcome

    GameEnv._finish_step = finishing  # type: ignore[method-assign]
    GameVectorEnv.advance = advancing  # type: ignore[method-assign]
    try:
        yield count
    finally:
        GameEnv._finish_step = finish_step  # type: ignore[method-assign]
        GameVectorEnv.advance = advance  # type: ignore[method-assign]
