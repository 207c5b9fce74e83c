"""`python -m baselines record`."""

from __future__ import annotations

from pathlib import Path

from baselines.commands.options import Agent, Env, EnvKwargs, GamesSeed
from baselines.registry import player
from baselines.settings import Count
from baselines.training.recording import record as record_games


def record(
    agent: Agent,
    /,
    out: Path,
    env: Env = None,
    episodes: Count = 20,
    seed: GamesSeed = 0,
    env_kwargs: EnvKwargs = None,
) -> None:
    """Let an agent play, and write its games to files that can be watched and learned from.

    These are never the games of `evaluate`.

    Args:
        out: The folder of the files; `watch` shows them. Games that it holds stay, but those of the
            same seed are replaced.
        episodes: The number of games.
    """
    played = player(agent, env, env_kwargs, seed)
    record_games(played.agent, played.task, episodes, seed, out, played.name)
