"""`python -m baselines record`."""

import shlex
import sys
from pathlib import Path
from typing import Any

from baselines.commands import options
from baselines.players import open_player
from baselines.settings import Count
from baselines.training.recording import Format
from baselines.training.recording import record as record_games


def record(
    agent: options.Agent,
    /,
    out: Path,
    env: options.Env = None,
    episodes: Count = 20,
    seed: options.GamesSeed = 0,
    env_kwargs: options.EnvKwargs = None,
    wrappers: options.Wrappers = (),
    search: options.Search = None,
    search_options: options.How = options.USUAL,
    format: Format = "replay",
) -> None:
    """Let an agent play, and write its games to files that can be watched and learned from.

    These are never the games of `evaluate`.

    Args:
        out: The folder of replays, which `watch` shows; games that it holds stay, but those of the
            same seed are replaced. For npz a file, for minari the name of a new dataset, such as
            2048/greedy-v0.
        episodes: The number of games.
        format: replay writes a file for each game, to watch and to train from. npz writes arrays of
            all transitions, with masks, to one file. minari makes a dataset for offline learning.
    """
    how: Any = {"agent_kwargs": options.given(wrappers=wrappers or None), "search": search}
    played = open_player(agent, env, env_kwargs, seed=seed, **how, **vars(search_options))
    command = shlex.join(["python", "-m", "baselines", *sys.argv[1:]])
    record_games(played.agent, played.task, episodes, seed, out, played.name, format, command)
