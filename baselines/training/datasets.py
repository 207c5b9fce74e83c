"""Games as data for offline learning: arrays in an `.npz` file, or a dataset of Minari."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.arrays import write_arrays
from tile_envs.errors import UsageError, extra
from tile_envs.files import PART
from tile_envs.replay import Playthrough


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


class Origin(NamedTuple):
    """What a file says of the games that it holds.

    Attributes:
        agent: Who played them.
        env: The environment that they were played in, from `gymnasium.make`.
        command: The command that played them.
    """

    agent: str
    env: Any
    command: str


def trajectory(game: Playthrough) -> Trajectory:
    """Return a game so far as arrays."""
    positions = game.positions
    return Trajectory(
        game.seed,
        np.array([position.observation for position in positions]),
        np.array(game.actions, np.int64),
        np.diff([position.total for position in positions]),
        np.array([position.terminated for position in positions[1:]], np.bool_),
        np.array([position.truncated for position in positions[1:]], np.bool_),
        {
            name: np.array([position.info[name] for position in positions])
            for name in positions[0].info
        },
    )


def write_npz(path: Path, games: Iterable[Trajectory], origin: Origin) -> None:
    """Write the transitions of games to an `.npz` file, one game after the other.

    For n transitions of g games it holds `observations`, `next_observations` `(n, ...)`,
    `action_masks`, `next_action_masks` `(n, actions)`, `actions`, `rewards`, `terminations`,
    `truncations` `(n,)`, `episodes` `(n,)`, the number of each one's game, `seeds` `(g,)`, and the
    texts `env_spec`, which is JSON, `algorithm_name` and `command`.

    Args:
        path: The file, which is replaced when all games have been played.
        games: The games.
        origin: What the file says of them.

    Raises:
        OSError: If the file cannot be written.
    """
    played = list(games)

    def joined(part: Callable[[Trajectory], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([part(game) for game in played])

    arrays = {
        "observations": joined(lambda game: game.observations[:-1]),
        "next_observations": joined(lambda game: game.observations[1:]),
        "action_masks": joined(lambda game: game.infos["action_mask"][:-1]),
        "next_action_masks": joined(lambda game: game.infos["action_mask"][1:]),
        "actions": joined(lambda game: game.actions),
        "rewards": joined(lambda game: game.rewards),
        "terminations": joined(lambda game: game.terminations),
        "truncations": joined(lambda game: game.truncations),
        "episodes": np.repeat(np.arange(len(played)), [len(game.actions) for game in played]),
        "seeds": np.array([game.seed for game in played], np.uint64),
        "env_spec": np.array(origin.env.spec.to_json()),
        "algorithm_name": np.array(origin.agent),
        "command": np.array(origin.command),
    }
    write_arrays(path, arrays)


def check_minari(name: str) -> Path:
    """Check that a dataset can be made, and return the folder that it will have.

    Args:
        name: The dataset's id.

    Raises:
        ValueError: If it is no id of Minari, or there is such a dataset.
        ExtraNotInstalled: If Minari is missing.
    """
    with extra("minari"):
        import h5py  # noqa: F401 # which Minari stores datasets with
        from minari.dataset.minari_dataset import parse_dataset_id
        from minari.storage.datasets_root_dir import get_dataset_path
    try:
        parse_dataset_id(name)
    except (ValueError, TypeError):  # the latter without a version
        raise UsageError(
            f"a dataset of Minari is named as 2048/greedy-v0, letters, digits, - and _ with a "
            f"version at the end, got {name!r}."
        ) from None
    folder: Path = get_dataset_path(name)
    if folder.exists():
        raise UsageError(f"Minari has a dataset {name} already, in {folder}: give another version.")
    return folder


def write_minari(name: str, games: Iterable[Trajectory], origin: Origin) -> None:
    """Make a dataset where Minari keeps its own; `minari.load_dataset(name)` loads it.

    It holds all infos, the seed of each episode, and Minari's `env_spec`, `algorithm_name` and
    `description`, which tells the command.

    Args:
        name: The dataset's id.
        games: The games; one that was over before its first action is left out.
        origin: What the dataset says of them.

    Raises:
        ValueError: See `check_minari`.
        OSError: If the dataset cannot be written; nothing is left of it then.
    """
    folder = check_minari(name)
    from minari import __version__
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.dataset.minari_storage import MinariStorage
    from minari.namespace import create_namespace, list_local_namespaces
    from minari.storage.datasets_root_dir import get_dataset_path

    env, namespace = origin.env, parse_dataset_id(name)[0]
    # In a hidden folder, which is none of Minari's datasets, until it is complete.
    with tempfile.TemporaryDirectory(PART, ".", get_dataset_path()) as made:
        storage = MinariStorage.new(
            Path(made) / "data", env.observation_space, env.action_space, env.spec
        )
        about = {
            "dataset_id": name,
            "minari_version": __version__,
            "algorithm_name": origin.agent,
            "description": f"Games of {env.spec.id}, played by: {origin.command}",
        }
        storage.update_metadata(about)
        storage.update_episodes(EpisodeBuffer(**g._asdict()) for g in games if len(g.actions))
        if namespace and namespace not in list_local_namespaces():
            create_namespace(namespace)
        folder.mkdir()
        (Path(made) / "data").rename(folder / "data")
