"""A training run is a folder: its configuration, its progress, its checkpoint.

    config.json     the agent, the task, all settings, the seed, the budget, the seconds learned at
                    the checkpoint, whether it is finished, versions; what a copy is, if it is one
    progress.csv    metrics, one line a report; TensorBoard events hold the same
    checkpoint.npz  the learner's state, as `sparse` packs it
    last.zip        for learners on Stable-Baselines3, the model as that library writes it, saved
    best.zip        with the checkpoint, and at the best test
    lock            while a process learns: its id

The random numbers of an iteration are a function of the run's seed and the iteration (`learner`),
so a run that was killed is resumed from its last checkpoint; one of a single thread and a budget in
games ends where it would have ended.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import SoftFileLock, Timeout
from typing_extensions import NotRequired, TypedDict

from baselines.arrays import read_arrays, size_of, write_arrays
from baselines.evaluation.rows import Row, read_rows
from baselines.settings import NonNegative, Positive, Seed, Weight, read_settings
from baselines.training.sparse import pack, unpack
from tile_envs import __version__
from tile_envs.errors import UsageError
from tile_envs.files import sweep, write_file
from tile_envs.words import number, printable

if TYPE_CHECKING:
    from baselines.training.learner import Learner, State

LOCK = "lock"
CONFIG, CHECKPOINT, PROGRESS = "config.json", "checkpoint.npz", "progress.csv"
LAST, BEST = "last.zip", "best.zip"
MODEL_SUFFIX = ".zip"
"""The suffix of the models of Stable-Baselines3."""
FORMAT = 6
"""Raised whenever a run's files mean something else than before."""
TASK = ("agent", "env", "env_kwargs", "sides", "seed")
"""Entries that must not change on resume."""
BUDGET = ("games", "minutes")
"""Entries that say when a run is finished: games on each side, or minutes of learning."""
MAY_CHANGE = {"device"}
"""Settings that say where a run is trained, not what; it may be resumed with others."""
PACKAGES = ("numpy", "gymnasium", "numba", "torch", "stable-baselines3", "sb3-contrib")


class Exported(TypedDict):
    """What a copy for playing is, apart from how its run was trained."""

    games_played: NonNegative
    version: str  # of this package, which made the copy
    model: NotRequired[str]  # of the run, if not the checkpoint was copied


class Config(TypedDict):
    """The entries of `config.json`."""

    agent: str
    env: str
    env_kwargs: dict[str, Any]
    sides: list[str]
    settings: dict[str, Any]
    seed: Seed
    games: NonNegative
    minutes: Positive | None
    finished: bool
    modules: list[str]
    format: int
    agent_version: int
    seconds: Weight
    versions: dict[str, str]
    exported: NotRequired[Exported]


def begin(folder: Path, config: Mapping[str, Any], finished: bool = False) -> None:
    """Write the configuration of a new run, checked by `as_json`, to its locked folder.

    Raises:
        ValueError: If there is a run already.
    """
    check_free(folder)
    versions = {"tile-envs": __version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # numpy and gymnasium are enough for some agents
            versions[package] = version(package)
    written = {"seconds": 0.0, "finished": finished, "format": FORMAT, "versions": versions}
    write_config(folder, {**config, **written, **config})


def with_runs(folders: Sequence[Path]) -> list[Path]:
    """Return the folders that hold runs, and say on standard error which do not.

    Raises:
        ValueError: If none does.
    """
    others = [folder for folder in folders if not (folder / CONFIG).exists()]
    if folders and len(others) == len(folders):
        raise UsageError(f"{folders[0]} holds no run: give the folders of runs, such as runs/*.")
    for folder in others:
        print(f"{printable(str(folder))} holds no run: left out", file=sys.stderr)
    return [folder for folder in folders if folder not in others]


def check_free(folder: Path) -> None:
    """Raise a `ValueError` if a folder, which may be missing, holds a run or is a file."""
    if (folder / CONFIG).exists():
        raise UsageError(
            f"{folder} holds a run already: give another --out; train --resume continues it."
        )
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: give another --out, for a folder.")


def as_json(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration as a run's file will hold it.

    Raises:
        ValueError: If it has objects, such as a placer of tiles.
    """
    try:
        written: dict[str, Any] = json.loads(json.dumps(config))
    except TypeError as error:
        raise UsageError(f"a run's folder cannot hold these options: {error}.") from error
    return written


def check_as_begun(folder: Path, config: Mapping[str, Any]) -> None:
    """Check that a configuration, as for `begin`, is what a run began with, but for the budget.

    Raises:
        ValueError: If there is no run, it was exported, or something differs.
    """
    old, new = read_config(folder), config
    if old.get("exported"):
        raise UsageError(f"{folder} was exported and cannot learn: resume the run that it is of.")
    names = (*TASK, "agent_version")
    before, now = ({**c["settings"], **{name: c[name] for name in names}} for c in (old, new))
    differing = [
        f"{name} was {value!r} and is now {now.get(name)!r}"
        for name, value in before.items()
        if now.get(name) != value and name not in MAY_CHANGE
    ]
    if differing:
        raise UsageError(f"{folder} can be resumed only as it began: {'; '.join(differing)}.")


def resume(folder: Path, learner: Learner) -> None:
    """Restore a new learner from the last checkpoint of a run, and give the run its budget.

    The folder is locked; `check_as_begun` has checked the learner's `run_config`.

    Raises:
        ValueError: If there is no run, its checkpoint is damaged, or it has passed the budget.
    """
    read_progress(folder)  # a damaged one is refused before anything is learned
    if (folder / CHECKPOINT).exists():
        learner.restore(read_checkpoint(folder, size_of(learner.state_dict())))
    old, budget = read_config(folder), {name: learner.run_config[name] for name in BUDGET}
    for name, used in (("games", learner.games), ("minutes", old["seconds"] / 60)):
        if (budget[name] or math.inf) < min(used, old[name] or math.inf):
            raise UsageError(
                f"{folder} has learned for {number(used)} {name}: give more than --{name} "
                f"{budget[name]}."
            )
    if any(old[name] != value for name, value in budget.items()):
        write_config(folder, old | budget | {"finished": False})


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write a configuration in place of the one that is there."""
    write_file(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode())


def write_checkpoint(folder: Path, state: State) -> None:
    """Write a checkpoint in place of the last one; see `write_arrays`."""
    write_arrays(folder / CHECKPOINT, pack(state), compressed=True)


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of a run.

    Raises:
        ValueError: If the folder holds no run, or a damaged one.
    """
    path = folder / CONFIG
    try:
        config: dict[str, Any] = printable(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"{folder} holds no run: {CONFIG}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is damaged: {error}.") from error
    written = config.get("format") if isinstance(config, dict) else None
    if written != FORMAT:
        raise UsageError(
            f"{path} is of format {written!r}, and this version reads runs of format {FORMAT}: "
            "train again."
        )
    try:
        read_settings(Config, config)
    except UsageError as error:
        raise UsageError(f"{path} is not that of a run: {error}") from error
    if ":" in config["env"]:  # my_module:Id would be imported, which only a person may ask for
        raise UsageError(f"{path}: unknown environment {config['env']!r}: a file names no module.")
    return config


def settings_of(folder: Path, config: Mapping[str, Any], learner: type[Learner]) -> Any:
    """Return the settings that a run's configuration holds.

    Raises:
        ValueError: If they are none of this learner, or of another version of it.
    """
    try:
        return read_settings(learner.Settings, config["settings"])
    except UsageError as error:
        if (version := config["agent_version"]) != learner.version:
            raise UsageError(
                f"{folder} was trained by version {version} of {config['agent']}, which had other "
                f"settings, and this is version {learner.version}: train again."
            ) from error
        raise UsageError(f"{folder / CONFIG} has been damaged: {error}") from error


def as_played(settings: Any) -> Any:
    """Return the settings of a run for playing, on any machine."""
    usual = {field.name: field.default for field in fields(settings) if field.name in MAY_CHANGE}
    if getattr(settings, "precision", "") == "bfloat16":  # very slow where it is emulated
        usual["precision"] = "auto"
    return replace(settings, **usual)


def read_checkpoint(
    folder: Path, max_bytes: int = sys.maxsize, without: Collection[str] = ()
) -> State:
    """Return the state of a run's learner; the arguments are those of `read_arrays`.

    Raises:
        ValueError: If there is no checkpoint, or it is damaged or larger.
    """
    path = folder / CHECKPOINT
    try:
        packed = read_arrays(path, max_bytes, without)
    except FileNotFoundError as error:
        raise UsageError(f"{folder} has no {CHECKPOINT}: it was stopped too early.") from error
    try:
        return unpack(packed, max_bytes)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is damaged: {str(error).rstrip('.')}.") from error


def read_progress(folder: Path) -> list[Row]:
    """Return the lines of a run's progress, as text by column; none if there are none yet.

    Raises:
        ValueError: If the file is damaged.
    """
    path = folder / PROGRESS
    if not path.exists():
        return []
    rows = read_rows(path)
    try:
        if not rows:
            raise UsageError("it has no lines")
        for line, row in enumerate(rows, 2):
            _check_progress(row, line)
    except ValueError as error:
        raise UsageError(
            f"{path} is damaged: {error}. Restore it, or delete it to go on without its history."
        ) from None
    return rows


def _check_progress(row: Row, line: int) -> None:
    """Check a line of progress: numbers, and nothing where a metric has no value."""
    if not row.keys() >= {"games", "seconds"}:
        raise UsageError("its columns must be games, seconds and metrics")
    for column, cell in row.items():
        is_counted = column in ("games", "seconds")
        try:
            usable = math.isfinite(float(cell)) or not is_counted
        except ValueError:
            usable = not (cell or is_counted)
        if not usable or (column == "games" and not cell.isdecimal()):
            raise UsageError(f"line {line} has {cell!r} for {column}")


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a folder, which is made if it is missing, until the `with` block ends.

    A lock that a dead process has left is taken over.  If the block fails, a new folder in which
    there is nothing is removed.

    Raises:
        ValueError: If another process holds it.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with lock(folder / LOCK, str(folder)):
            sweep(folder)
            yield
    except BaseException:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise


@contextmanager
def lock(path: Path, what: str) -> Iterator[None]:
    """Hold a lock, a file that names the process, on `what` until the `with` block ends.

    Raises:
        ValueError: If another process holds it.
    """
    holder = SoftFileLock(path, is_singleton=False)
    try:
        holder.acquire(blocking=False)
    except Timeout as error:
        process = f"process {holder.pid}" if holder.pid else "another process"
        raise UsageError(
            f"{what} is in use by {process}: wait for it, or delete {path} if it is gone."
        ) from error
    try:
        yield
    finally:
        holder.release()
