"""`python -m baselines record`."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path

from baselines.commands import options
from baselines.players import open_player
from baselines.settings import Count
from baselines.training.recording import Format
from baselines.training.recording import record as record_games


def record(
    agent: options.Agent,
    /,
    out: Path,
    playing: options.Playing = options.PLAYING,
    episodes: Count = 20,
    seed: options.GamesSeed = 0,
    format: Format = "replay",
) -> None:
    """Let an agent play, and write its games to files that can be watched and learned from.

    These are never the games of `evaluate`.

    Args:
        out: The folder of replays, which `watch` shows; those that it holds stay, except games of
            the same seed and number. For npz a file, for minari the name of a new dataset, such as
            2048/greedy-v0.
        episodes: The number of games.
        format: replay writes a file for each game, to watch and to train from. npz writes arrays of
            all transitions, with masks, to one file. minari makes a dataset for offline learning.
    """
    played = open_player(agent, seed=seed, **vars(playing))
    side = played.sides_to_evaluate(None, exact=False)[0]
    task = replace(played.task, env_kwargs=played.options(side))
    command = shlex.join(["python", "-m", "baselines", *sys.argv[1:]])
    record_games(played.agent, task, episodes, seed, out, played.name, format, command)
