"""`python -m baselines record`."""

from __future__ import annotations

from pathlib import Path

import tyro

from baselines.commands.options import EnvOptions
from baselines.registry import player
from baselines.training.recording import record as record_games
from tile_envs.base.checks import checked_count, checked_seed


def record(
    agent: tyro.conf.Positional[str],
    /,
    out: Path,
    env: str | None = None,
    episodes: int = 20,
    seed: int = 0,
    env_kwargs: EnvOptions | None = None,
) -> None:
    """Let an agent play, and write its games to files that can be watched and learned from.

    Args:
        agent: The agent's name, or the folder of a trained one.
        out: The folder of the files; `watch` shows them. Games that it holds stay, but those of the
            same seed are replaced.
        env: The environment's id (Tiles2048-v0, or the one that the agent was trained in).
        episodes: The number of games.
        seed: The seed of the list of games, which are never those of `evaluate`; and
            of the agent's own random numbers.
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
    """
    checked_count(episodes, "episodes")
    found = player(agent, env, env_kwargs or {}, checked_seed(seed))
    record_games(found.agent, found.task, episodes, seed, out, found.name)
