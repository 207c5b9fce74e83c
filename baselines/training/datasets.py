"""Games as data for offline learning: arrays of transitions, and datasets of Minari."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.random_stream import Words
from tile_envs.errors import UsageError, extra
from tile_envs.files import PART
from tile_envs.replay import Playthrough

TAKEN = ("actions", "rewards", "terminations", "truncations")
"""What a game's step consists of and brings."""


class Trajectory(NamedTuple):
    """What a game went through in T steps.

    Attributes:
        seed: The game's seed.
        observations: `(T + 1, ...)`, before each action and after the last one.
        actions: `(T,) int64`.
        rewards: `(T,) float64`.
        terminations: `(T,) bool`, whether an action ended the game.
        truncations: `(T,) bool`, whether it was one illegal action too many.
        infos: The entries of the infos by name, each `(T + 1, ...)`, such as `action_mask`.
    """

    seed: int
    observations: NDArray[Any]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, NDArray[Any]]


def trajectory(game: Playthrough) -> Trajectory:
    """Return a game so far as arrays."""
    infos = [position.info for position in game.positions]
    return Trajectory(
        game.seed,
        np.array([position.observation for position in game.positions]),
        np.array(game.actions, np.int64),
        np.diff([position.total for position in game.positions]),
        np.array([position.terminated for position in game.positions[1:]], np.bool_),
        np.array([position.truncated for position in game.positions[1:]], np.bool_),
        {name: np.array([info[name] for info in infos]) for name in infos[0]},
    )


class Recorder:
    """Keeps what games go through that are played side by side, for `sampled.play`."""

    def __init__(self) -> None:
        self._parts: list[dict[str, NDArray[Any]]] = []

    def keep(self, games: NDArray[np.int64], *step: Any) -> None:
        """Keep a step of games, and where it has ended a game also what came last."""
        observations, infos, *taken, last, last_infos = step
        part = dict(zip(TAKEN, taken, strict=True)) | {"games": games}
        self._parts.append(part | infos | {"observations": observations})
        over = part["terminations"] | part["truncations"]
        if over.any():
            ended = part | last_infos | {"observations": last}
            self._parts.append({name: values[over] for name, values in ended.items()})

    def trajectories(self, seeds: Words) -> Iterator[Trajectory]:
        """Yield the games, in the order of their numbers, with their seeds `(g,)`."""
        columns = {n: np.concatenate([part[n] for part in self._parts]) for n in self._parts[0]}
        games = columns.pop("games")
        ends = np.cumsum(np.bincount(games))
        order = np.split(np.argsort(games, kind="stable"), ends[:-1])
        for seed, rows in zip(seeds.tolist(), order, strict=True):
            game = {name: values[rows] for name, values in columns.items()}
            steps = {name: game.pop(name)[:-1] for name in TAKEN}
            yield Trajectory(seed, game.pop("observations"), **steps, infos=game)


def transitions(games: Iterable[Trajectory]) -> dict[str, NDArray[Any]]:
    """Return the n transitions of g games, one game after the other.

    Returns:
        `observations`, `next_observations` `(n, ...)`; `action_masks`, `next_action_masks`
        `(n, actions)`; `actions`, `rewards`, `terminations`, `truncations` `(n,)`; `episodes`
        `(n,)`, the number of each one's game; `seeds` `(g,) uint64`.
    """
    played = list(games)
    parts = {
        "observations": [game.observations[:-1] for game in played],
        "next_observations": [game.observations[1:] for game in played],
        "action_masks": [game.infos["action_mask"][:-1] for game in played],
        "next_action_masks": [game.infos["action_mask"][1:] for game in played],
        "actions": [game.actions for game in played],
        "rewards": [game.rewards for game in played],
        "terminations": [game.terminations for game in played],
        "truncations": [game.truncations for game in played],
        "episodes": [np.full(len(game.actions), number) for number, game in enumerate(played)],
        "seeds": [np.array([game.seed for game in played], np.uint64)],
    }
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def write_minari(
    name: str, games: Iterable[Trajectory], env: Any, agent: str, command: str
) -> None:
    """Make a dataset where Minari keeps its own; `minari.load_dataset(name)` loads it.

    The environment is from `gymnasium.make`; the dataset's description tells the command.  Games
    that were over before their first action are left out.

    Raises:
        ValueError: If Minari allows no such id, or has such a dataset.
        ExtraNotInstalled: If Minari is missing.
        OSError: If the dataset cannot be written; nothing is left of it then.
    """
    with extra("minari"):
        import h5py  # noqa: F401 # with which Minari stores datasets
        from minari import __version__
        from minari.data_collector import EpisodeBuffer
        from minari.dataset.minari_dataset import parse_dataset_id
        from minari.dataset.minari_storage import MinariStorage
        from minari.namespace import create_namespace, list_local_namespaces
        from minari.storage.datasets_root_dir import get_dataset_path
    try:
        namespace = parse_dataset_id(name)[0]
    except (ValueError, TypeError):  # the latter without a version
        raise UsageError(
            "a dataset of Minari is named as 2048/greedy-v0: letters, digits, - and _, two or more "
            f"before a slash, with a version at the end, got {name!r}."
        ) from None
    folder = get_dataset_path(name)
    if folder.exists():
        raise UsageError(f"Minari has a dataset {name} already, {folder}: give another version.")
    # In a hidden folder, which is none of Minari's datasets, until it is complete.
    with tempfile.TemporaryDirectory(PART, ".", get_dataset_path()) as made:
        spaces = env.observation_space, env.action_space
        storage = MinariStorage.new(Path(made) / "data", *spaces, env.spec, jpeg_encoding=False)
        text = f"Games of {env.spec.id}, played by: {command}"
        about = {"dataset_id": name, "algorithm_name": agent, "description": text}
        storage.update_metadata(about | {"minari_version": __version__})
        storage.update_episodes(EpisodeBuffer(**g._asdict()) for g in games if len(g.actions))
        if namespace and namespace not in list_local_namespaces():
            create_namespace(namespace)
        folder.mkdir()
        (Path(made) / "data").rename(folder / "data")
