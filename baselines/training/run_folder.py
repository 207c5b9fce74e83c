"""A training run is a folder: its configuration, its progress, its checkpoint.

    config.json     what decides the run, and how far it is (`Run`)
    progress.csv    metrics, one line a report; TensorBoard events hold the same
    checkpoint.npz  the learner's state, as `arrays` packs it
    last.zip        for learners on Stable-Baselines3, the model as that library writes it, saved
    best.zip        with the checkpoint, and at the best test
    lock            while a process learns

A run that was killed is resumed from its last checkpoint (see `learner`); one of a single thread
and a budget in games ends where it would have ended.
"""

import json
import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from typing_extensions import Self

from baselines.arrays import Arrays, pack, read_arrays, size_of, write_arrays
from baselines.evaluation.rows import Row, read_rows
from baselines.settings import Weight, read_settings
from baselines.training.config import BUDGET, RunConfig
from tile_envs import __version__
from tile_envs.errors import UsageError
from tile_envs.files import PART, naming, write_file
from tile_envs.words import printable

CONFIG, LOCK, CHECKPOINT, PROGRESS = "config.json", "lock", "checkpoint.npz", "progress.csv"
LAST, BEST, MODEL_SUFFIX = "last.zip", "best.zip", ".zip"
FORMAT = 7  # raised whenever a run's files mean something else than before
PACKAGES = ("numpy", "gymnasium", "numba", "torch", "stable-baselines3", "sb3-contrib")


def folder_of(path: Path) -> Path:
    """Return the folder of a run that is named by it, or by a model in it."""
    return path.parent if path.suffix == MODEL_SUFFIX and not path.is_dir() else path


def installed() -> dict[str, str]:
    """Return the versions of this package and of the libraries that results depend on."""
    versions = {"tile-envs": __version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # numpy and gymnasium are enough for some agents
            versions[package] = version(package)
    return versions


@dataclass(frozen=True)
class Run:
    """A run as its folder notes it."""

    config: RunConfig
    versions: dict[str, str] = field(default_factory=installed)  # that it began with
    seconds: Weight = 0.0  # of learning, at the last checkpoint
    finished: bool = False
    # Of a copy for playing: the run's `games_played`, this package's `version`, a copied `model`.
    exported: dict[str, int | str] | None = None

    def write(self, folder: Path) -> None:
        noted = asdict(self)
        entries = noted.pop("config") | noted
        entries = {name: v for name, v in entries.items() if v is not None or name in BUDGET}
        try:
            text = json.dumps(entries | {"format": FORMAT}, indent=2) + "\n"
        except TypeError as error:
            raise UsageError(f"a run's folder cannot hold these options: {error}.") from error
        write_file(folder / CONFIG, text.encode())

    @classmethod
    def read(cls, folder: Path) -> Self:
        path = folder / CONFIG
        try:
            entries: Any = printable(dict(json.loads(path.read_text(encoding="utf-8"))))
            if (written := entries.pop("format", None)) != FORMAT:
                raise UsageError(f"format {written!r}, this version reads {FORMAT}: train again")
            noted = {f.name: entries.pop(f.name) for f in fields(cls)[1:] if f.name in entries}
            read_settings(RunConfig, entries)  # what it does not know is named
            run = read_settings(cls, noted | {"config": entries})
            if ":" in run.config.env:  # a module is imported only if a person asks for it
                raise UsageError(f"unknown environment {run.config.env!r}: a file names no module")
        except OSError as error:
            raise UsageError(f"{folder} holds no run: {CONFIG}: {error.strerror}.") from error
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{path} is damaged, or of another version: {error}") from error
        return run


def with_runs(folders: Sequence[Path]) -> list[Path]:
    """Return the folders that hold runs, and say on standard error which do not."""
    others = [folder for folder in folders if not (folder / CONFIG).exists()]
    if folders and len(others) == len(folders):
        raise UsageError(f"{folders[0]} holds no run: give the folders of runs, such as runs/*.")
    for folder in others:
        print(f"{printable(str(folder))} holds no run: left out", file=sys.stderr)
    return [folder for folder in folders if folder not in others]


def check_free(folder: Path) -> None:
    if (folder / CONFIG).exists():
        raise UsageError(f"{folder} holds a run already: give another --out, or --resume.")


def write_checkpoint(folder: Path, state: Arrays) -> None:
    write_arrays(folder / CHECKPOINT, pack(state), compressed=True)


def read_checkpoint(folder: Path, like: Arrays | None = None) -> Arrays:
    """Return the state of a run's learner; or its arrays of the names and size of others."""
    path, most = folder / CHECKPOINT, sys.maxsize if like is None else size_of(like)
    if not path.exists():
        raise UsageError(f"{folder} has no {CHECKPOINT}: it was stopped too early.")
    return read_arrays(path, most, only=like)


def read_progress(folder: Path) -> list[Row]:
    """Return the lines of a run's progress, as text by column; none if there are none yet."""
    path = folder / PROGRESS
    if not path.exists():
        return []
    rows = read_rows(path)
    try:
        numbers = [float(cell or "nan") for row in rows for cell in row.values()]
        usable = [int(row["games"]) >= 0 <= float(row["seconds"]) < math.inf for row in rows]
    except (KeyError, ValueError):
        numbers = []
    if not numbers or not all(usable):
        raise UsageError(f"{path} is damaged: restore it, or delete it to go on without history.")
    return rows


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a folder, which is made if it is missing, until the `with` block ends."""
    # If the block fails, a new folder in which there is nothing is removed.
    if (is_new := not folder.is_dir()) and folder.exists():
        raise UsageError(f"{folder} is a file: give another --out, for a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with naming(folder), lock(folder / LOCK, str(folder)):
            for left in folder.glob(f"*{PART}"):  # by processes that were killed
                shutil.rmtree(left, ignore_errors=True)
            yield
    except BaseException:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise


@contextmanager
def lock(path: Path, what: str) -> Iterator[None]:
    """Hold a file of the kernel's locks on `what`; the kernel lets go when this process ends."""
    holder = FileLock(path)
    try:
        holder.acquire(blocking=False)
    except Timeout:
        raise UsageError(f"{what} is in use by another process: wait for it.") from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows keeps what is open
            path.unlink()
        holder.release()
