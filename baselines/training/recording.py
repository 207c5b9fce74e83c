"""Recorded games, to learn from: replays, arrays of transitions, datasets of Minari.

`python -m tile_envs.play --record` writes what a person plays as replays (`tile_envs.replay`).
"""

import re
import shutil
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from baselines.agents import Task
from baselines.arrays import Arrays, write_arrays
from baselines.evaluation.sampled import N_ENVS, play
from baselines.seeds import game_seeds
from baselines.settings import check_batch, check_file
from baselines.training.run_folder import check_free, lock_folder
from tile_envs.agents import Agent
from tile_envs.errors import UsageError, extra
from tile_envs.game import Game, Ints
from tile_envs.games import make
from tile_envs.replay import Playthrough, Replay, begin, read, replay_of, write
from tile_envs.words import counted

VERSION = 2  # raised when the same command records other games of an agent that draws nothing
Format = Literal["replay", "npz", "minari"]
Trajectory = dict[str, Any]
"""A game of T steps: its `seed`; its `observations` and, by name, its `infos`, each `(T + 1, ...)`;
and `TAKEN`, each `(T,)`.  Minari's `EpisodeBuffer` takes these as its arguments."""
TAKEN = ("actions", "rewards", "terminations", "truncations")
MINARI = re.compile(r"([\w-][\w/-]*[\w-]/)?[\w-]+-v\d+")
"""The names of Minari's datasets; it makes folders of others, too."""


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
    """Write games of an agent, none of an evaluation: replays, `transitions` or a dataset."""
    check_batch(games, "episodes", 40)  # bytes of a game's seed, also as an integer of Python
    env: Any = make(task.env, task.env_kwargs)
    played = _played(agent, task, games, seed)
    if format == "replay":
        check_free(out)
        with lock_folder(out):
            if held := [_read(path, task.game) for path in out.glob("*.json")]:
                there = counted(len(held), "game")
                print(f"{out} holds {there} already; the same numbers of a seed are replaced")
            for number, game in enumerate(played):
                write(replay_of(game, name), out / f"{seed}-{number}.json")
        after = f"python -m baselines watch {out} shows them"
    elif format == "npz":
        check_file(out, (".npz",), "arrays are")
        about = {"env_spec": env.spec.to_json(), "algorithm_name": name, "command": command}
        arrays = transitions(map(_trajectory, played))
        arrays |= {n: np.array(text) for n, text in about.items()}
        write_arrays(out, arrays.items())
        after = "numpy.load reads them"
    else:
        _write_minari(out.as_posix(), map(_trajectory, played), env, name, command)
        after = f"minari.load_dataset({out.as_posix()!r}) reads them"
    print(f"wrote {counted(games, 'game')} to {out}; {after}")


def _write_minari(
    name: str, games: Iterable[Trajectory], env: Any, agent: str, command: str
) -> None:
    """Make a dataset where Minari keeps its own; nothing is left of one that fails."""
    with extra("minari"):
        import h5py  # noqa: F401 # with which Minari stores datasets
        from minari import create_dataset_from_buffers
        from minari.data_collector import EpisodeBuffer
        from minari.storage import get_dataset_path
    if not MINARI.fullmatch(name):
        raise UsageError(f"a dataset of Minari is named as 2048/greedy-v0, got {name!r}.")
    if (folder := get_dataset_path(name)).exists():
        raise UsageError(f"Minari has a dataset {name} already, {folder}: give another version.")
    episodes = [EpisodeBuffer(**game) for game in games]
    told = {"algorithm_name": agent, "description": f"Games of {env.spec.id}, played by: {command}"}
    try:
        with warnings.catch_warnings():  # of an author and others that are not named
            warnings.simplefilter("ignore", UserWarning)
            create_dataset_from_buffers(name, episodes, env, **told, jpeg_encoding=False)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _played(agent: Agent, task: Task, games: int, seed: int) -> Iterator[Playthrough]:
    """Yield an agent's games, each played again by its seed and actions."""
    env, seeds = make(task.env, task.env_kwargs), game_seeds(seed, games, "recording").tolist()
    for first in range(0, games, N_ENVS):
        own, steps = seeds[first : first + N_ENVS], list[tuple[Ints, Ints]]()
        how: Any = {"use": "recording", "first": first, "keep": steps.append}
        play(agent, task.env, task.env_kwargs, len(own), seed, "recording", **how)
        numbers, actions = map(np.concatenate, zip(*steps, strict=True))
        for number, word in enumerate(own):
            game = Playthrough(env, word)
            for action in actions[numbers == number].tolist():
                game.play(action)
            yield game


def _trajectory(game: Playthrough) -> Trajectory:
    _, observations, infos, totals, *ends = zip(*game.positions, strict=True)
    steps = np.array(game.actions, np.int64), np.diff(totals), *np.array(ends)[:, 1:]
    told = {name: np.array([info[name] for info in infos]) for name in infos[0]}
    states = {"seed": game.seed, "observations": np.array(observations), "infos": told}
    return states | dict(zip(TAKEN, steps, strict=True))


def read_transitions(folder: Path, game: Game) -> Arrays:
    """Return the `transitions` of a folder's replays, `*.json`, without illegal actions."""
    games = [_legal_part(_read(path, game)) for path in sorted(folder.glob("*.json"))]
    if not any(len(each["actions"]) for each in games):
        raise UsageError(f"{folder} holds no replays (*.json) with legal actions.")
    return transitions(games)


def _read(path: Path, game: Game) -> Replay:
    replay = read(path)
    there = make(replay.env, replay.options).game
    if (there.name, there.shape) != (game.name, game.shape):
        raise UsageError(f"{path} is a game of {there}, expected one of {game}.")
    return replay


def _legal_part(replay: Replay) -> Trajectory:
    game = begin(replay)
    if getattr(game.env.game, "side", "") == "both":  # every other board is the other player's
        raise UsageError("replays of both sides cannot be learned from: record one side.")
    for action in replay.actions:
        if game.position.info["action_mask"][action]:
            game.play(action)
    return _trajectory(game)


def transitions(games: Iterable[Trajectory]) -> Arrays:
    """Return the n transitions of g games, one game after the other.

    Returns:
        `observations`, `next_observations` `(n, ...)`; `action_masks`, `next_action_masks`
        `(n, actions)`; `actions`, `rewards`, `terminations`, `truncations` `(n,)`; `episodes`
        `(n,)`, the number of each one's game; `seeds` `(g,) uint64`.
    """
    parts = []
    for number, game in enumerate(games):
        boards, masks = game["observations"], game["infos"]["action_mask"]
        part = {"observations": boards[:-1], "next_observations": boards[1:]}
        part |= {"action_masks": masks[:-1], "next_action_masks": masks[1:]}
        part |= {name: game[name] for name in TAKEN} | {"episodes": np.full(len(masks) - 1, number)}
        parts.append(part | {"seeds": np.array([game["seed"]], np.uint64)})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
