"""Recorded games, to learn from: those of a person, or of a strong agent.

`python -m tile_envs.play --record` writes what a person plays, and `python -m baselines record`
what an agent plays, as replays (see `tile_envs.replay`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from baselines.arrays import write_arrays
from baselines.evaluation.sampled import N_ENVS, play
from baselines.progress import Progress
from baselines.seeds import game_seeds
from baselines.settings import check_batch
from baselines.task import Task
from baselines.training.datasets import Recorder, Trajectory, trajectory, transitions, write_minari
from baselines.training.run_folder import check_free, lock_folder
from tile_envs.agents import Agent
from tile_envs.errors import UsageError
from tile_envs.files import checked_file
from tile_envs.game import Game
from tile_envs.games import make
from tile_envs.replay import Playthrough, begin, read, replay_of, write
from tile_envs.words import counted

VERSION = 2
"""Raised when the same command records other games of an agent that draws nothing."""
Format = Literal["replay", "npz", "minari"]


def read_transitions(folder: Path, game: Game) -> dict[str, NDArray[Any]]:
    """Return the `transitions` of a folder's replays, `*.json`, without illegal actions.

    They must be of the game, but for its opponent or spawn distribution.
    """
    games: list[Trajectory] = []
    for path in sorted(folder.glob("*.json")):
        replay = read(path)
        playthrough = begin(replay)
        recorded = playthrough.env.game
        if (recorded.name, recorded.shape) != (game.name, game.shape):
            raise UsageError(f"{path} is a game of {recorded}, expected one of {game}.")
        for action in replay.actions:
            playthrough.play(action)
        games.append(trajectory(playthrough))
    legal = np.concatenate([~game.infos["illegal"][1:] for game in games] or [np.zeros(0)])
    if not legal.any():
        raise UsageError(
            f"{folder} holds no replays (*.json) with legal actions: record some games, or name "
            "another folder."
        )
    return {name: array[legal] for name, array in transitions(games).items() if name != "seeds"}


def _check_others(folder: Path, task: Task) -> None:
    """Say that a folder holds games already, which must be of the same task."""
    paths = sorted(folder.glob("*.json"))
    for path in paths:
        there = read(path)
        made = make(there.env, there.options).game
        if (there.env, str(made)) != (task.env, str(task.game)):
            raise UsageError(
                f"{folder} holds games of {made}, {there.env}: give those of {task.game} a folder "
                "of their own."
            )
    if paths:
        print(f"{folder} holds {counted(len(paths), 'game')} already; the same seed's are replaced")


def record(
    agent: Agent,
    task: Task,
    games: int,
    seed: int,
    out: Path,
    name: str = "",
    format: Format = "replay",
    command: str = "",
) -> None:
    """Let an agent play, and write its games.

    No game is one of an evaluation, so that what learns from them can be evaluated with any seed.
    They go to a folder of replays, a file of `transitions` or a dataset of Minari, which tell the
    agent's name; the latter two tell the command as well.
    """
    check_batch(games, "episodes", 40)  # bytes of a game's seed, also as an integer of Python
    env: Any = make(task.env, task.env_kwargs)
    played = _played(agent, task, games, seed)
    if format == "replay":
        check_free(out)
        _check_others(out, task)
        with lock_folder(out):
            for number, game in enumerate(played):
                playthrough = Playthrough(env, game.seed)
                playthrough.actions = game.actions.tolist()
                write(replay_of(playthrough, name), out / f"{seed}-{number}.json")
        after = f"python -m baselines watch {out} shows them"
    else:
        if format == "npz":
            checked_file(out, (".npz",), "arrays are")
            about = {"env_spec": env.spec.to_json(), "algorithm_name": name, "command": command}
            write_arrays(out, transitions(played) | {n: np.array(about[n]) for n in about})
            after = "numpy.load reads them"
        else:
            write_minari(out.as_posix(), played, env, name, command)
            after = f"minari.load_dataset({out.as_posix()!r}) reads them"
    print(f"wrote {counted(games, 'game')} to {out}; {after}")


def _played(agent: Agent, task: Task, games: int, seed: int) -> Iterator[Trajectory]:
    """Yield the games of an agent, which plays many at once, under a progress bar."""
    seeds = game_seeds(seed, games, "recording")
    for first in range(0, games, N_ENVS):
        own, recorder = seeds[first : first + N_ENVS], Recorder()
        with Progress("recording", len(own)) as progress:
            how: Any = {"use": "recording", "first": first, "keep": recorder.keep}
            play(agent, task.env, task.env_kwargs, len(own), seed, progress, **how)
        yield from recorder.trajectories(own)
