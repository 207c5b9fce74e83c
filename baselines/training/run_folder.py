"""A training run is a folder: its configuration, its progress, its checkpoint.

    config.json     what decides the run, and how far it is (`Run`)
    progress.csv    metrics, one line a report; TensorBoard events hold the same
    checkpoint.npz  the learner's state, as `arrays` packs it
    last.zip        for learners on Stable-Baselines3, the model as that library writes it, saved
    best.zip        with the checkpoint, and at the best test
    lock            while a process learns

The random numbers of an iteration are a function of the run's seed and the iteration (`learner`),
so a run that was killed is resumed from its last checkpoint; one of a single thread and a budget in
games ends where it would have ended.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from numpy.typing import NDArray
from typing_extensions import Self

from baselines.arrays import MASK, pack, read_arrays, size_of, unpack, write_arrays
from baselines.evaluation.rows import Row, read_rows
from baselines.settings import Weight, read_settings
from baselines.training.config import BUDGET, RunConfig
from tile_envs import __version__
from tile_envs.errors import UsageError
from tile_envs.files import naming, sweep, write_file
from tile_envs.words import printable

CONFIG, LOCK, CHECKPOINT, PROGRESS = "config.json", "lock", "checkpoint.npz", "progress.csv"
LAST, BEST = "last.zip", "best.zip"
MODEL_SUFFIX = ".zip"
"""The suffix of the models of Stable-Baselines3."""
FORMAT = 7
"""Raised whenever a run's files mean something else than before."""
PACKAGES = ("numpy", "gymnasium", "numba", "torch", "stable-baselines3", "sb3-contrib")


def _versions() -> dict[str, str]:
    versions = {"tile-envs": __version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # numpy and gymnasium are enough for some agents
            versions[package] = version(package)
    return versions


@dataclass(frozen=True)
class Run:
    """A run as its folder notes it.

    Attributes:
        config: What decides it.
        versions: The versions of the libraries that it began with.
        seconds: The seconds that it has learned, at the last checkpoint.
        finished: Whether it has used up its budget.
        exported: Of a copy for playing, the run's `games_played`, the `version` of this package
            that made it, and the run's `model`, if not the checkpoint was copied.
    """

    config: RunConfig
    versions: dict[str, str] = field(default_factory=_versions)
    seconds: Weight = 0.0
    finished: bool = False
    exported: dict[str, int | str] | None = None

    def write(self, folder: Path) -> None:
        """Write it to its folder, in place of what is there."""
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
        """Return the run of a folder."""
        path = folder / CONFIG
        try:
            entries: Any = printable(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise UsageError(f"{folder} holds no run: {CONFIG}: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path} is damaged: {error}.") from error
        written = entries.pop("format", None) if isinstance(entries, dict) else None
        if written != FORMAT:
            raise UsageError(
                f"{path} is of format {written!r}, and this version reads runs of format {FORMAT}: "
                "train again."
            )
        noted = {f.name: entries.pop(f.name) for f in fields(cls)[1:] if f.name in entries}
        try:
            read_settings(RunConfig, entries)  # what it does not know is named
            run = read_settings(cls, noted | {"config": entries})
        except UsageError as error:
            raise UsageError(f"{path} is not that of a run: {error}") from error
        if ":" in run.config.env:  # my_module:Id would be imported, which only a person may ask for
            raise UsageError(
                f"{path}: unknown environment {run.config.env!r}: a file names no module."
            )
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
    """Raise a `ValueError` if a folder, which may be missing, holds a run or is a file."""
    if (folder / CONFIG).exists():
        raise UsageError(
            f"{folder} holds a run already: give another --out; train --resume continues it."
        )
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: give another --out, for a folder.")


def write_checkpoint(folder: Path, state: Mapping[str, NDArray[Any]]) -> None:
    """Write a checkpoint in place of the last one; see `write_arrays`."""
    write_arrays(folder / CHECKPOINT, pack(state), compressed=True)


def read_checkpoint(
    folder: Path, max_bytes: int = sys.maxsize, like: Mapping[str, NDArray[Any]] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the state of a run's learner, of at most so many bytes; or the arrays like others."""
    path, only = folder / CHECKPOINT, None
    if like is not None:
        max_bytes, only = size_of(like), {MASK, *like}
    try:
        packed = read_arrays(path, max_bytes, only)
    except FileNotFoundError as error:
        raise UsageError(f"{folder} has no {CHECKPOINT}: it was stopped too early.") from error
    try:
        return unpack(packed, max_bytes)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is damaged: {str(error).rstrip('.')}.") from error


def read_progress(folder: Path) -> list[Row]:
    """Return the lines of a run's progress, as text by column; none if there are none yet."""
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

    If the block fails, a new folder in which there is nothing is removed.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with naming(folder), lock(folder / LOCK, str(folder)):
            sweep(folder)
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
