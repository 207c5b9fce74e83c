"""A training run is a folder: its configuration, its progress, its checkpoint.

    config.json     what decides the run, and how far it is (`RunConfig`)
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

import math
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import SoftFileLock, Timeout

from baselines.arrays import read_arrays, write_arrays
from baselines.evaluation.rows import Row, read_rows
from baselines.training.config import BUDGET, CONFIG, RunConfig
from baselines.training.sparse import MASK, pack, unpack
from tile_envs.errors import UsageError
from tile_envs.files import naming, sweep
from tile_envs.words import number, printable

if TYPE_CHECKING:
    from baselines.training.learner import Learner, State

LOCK, CHECKPOINT, PROGRESS = "lock", "checkpoint.npz", "progress.csv"
LAST, BEST = "last.zip", "best.zip"
EMPTY_SECONDS = 10.0
"""A lock that names no process after this time is one that was killed while it was written."""
MODEL_SUFFIX = ".zip"
"""The suffix of the models of Stable-Baselines3."""


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


def check_learns(folder: Path, config: RunConfig) -> None:
    """Raise a `ValueError` if a run is an exported copy."""
    if config.exported:
        raise UsageError(f"{folder} was exported and cannot learn: take the run that it is of.")


def resume(folder: Path, kind: type[Learner], config: RunConfig) -> Learner:
    """Return the learner of a run at its last checkpoint, and give the run its budget.

    The folder is locked.  The configuration is the one that the run began with, but for the budget,
    which is the new one, and for when it is tested, if that is given.
    """
    begun, budget = RunConfig.read(folder), {name: getattr(config, name) for name in BUDGET}
    check_learns(folder, begun)
    if differing := begun.differences(config):
        raise UsageError(f"{folder} can be resumed only as it began: {'; '.join(differing)}.")
    progress = read_progress(folder)  # a damaged one is refused before anything is learned
    has_learned = (folder / CHECKPOINT).exists()
    learner = kind.load(folder, config, playing=False) if has_learned else kind.new(config)
    # A kill may have come after the checkpoint was written, and before the configuration.
    counted = (float(row["seconds"]) for row in progress if int(row["games"]) <= learner.games)
    begun = replace(begun, seconds=max([begun.seconds, *counted]))
    used_up = learner.games, learner.moves or 0, begun.seconds / 60
    for name, used in zip(BUDGET, used_up, strict=True):
        if (budget[name] or math.inf) < min(used, getattr(begun, name) or math.inf):
            raise UsageError(
                f"{folder} has learned for {number(used)} {name}: give more than --{name} "
                f"{budget[name]}."
            )
    # Its files may have been moved, and so may its device.
    given: dict[str, Any] = {"env_kwargs": config.env_kwargs, "settings": config.settings, **budget}
    tests = {name: getattr(config, name) for name in ("test_every", "test_games")}
    given |= {name: value for name, value in tests.items() if value is not None}
    if config.budget != begun.budget:
        given["finished"] = False
        if has_learned:
            given["budgets"] = (*(begun.budgets or (begun.budget,)), config.budget)
    learner.run_config = replace(begun, **given)
    return learner


def write_checkpoint(folder: Path, state: State) -> None:
    """Write a checkpoint in place of the last one; see `write_arrays`."""
    write_arrays(folder / CHECKPOINT, pack(state), compressed=True)


def read_checkpoint(
    folder: Path, max_bytes: int = sys.maxsize, only: Collection[str] | None = None
) -> State:
    """Return the state of a run's learner; the arguments are those of `read_arrays`."""
    path = folder / CHECKPOINT
    try:
        packed = read_arrays(path, max_bytes, None if only is None else {MASK, *only})
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
def lock_folder(folder: Path, take_over: bool = False) -> Iterator[None]:
    """Hold a folder, which is made if it is missing, until the `with` block ends.

    A lock that a dead process of this host has left is taken over, any other if that is asked.  If
    the block fails, a new folder in which there is nothing is removed.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if take_over:
            (folder / LOCK).unlink(missing_ok=True)
        with naming(folder), lock(folder / LOCK, str(folder), ", or add --take-over"):
            sweep(folder)
            yield
    except BaseException:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise


@contextmanager
def lock(path: Path, what: str, remedy: str = "") -> Iterator[None]:
    """Hold a lock, a file that names the process, on `what` until the `with` block ends."""
    holder = SoftFileLock(path, is_singleton=False)
    with suppress(FileNotFoundError):
        there = path.stat()
        if not there.st_size and time.time() - there.st_mtime > EMPTY_SECONDS:
            path.unlink()
    try:
        holder.acquire(blocking=False)
    except Timeout as error:
        process, host, *_ = (*path.read_text(encoding="utf-8").split(), "?", "?")
        raise UsageError(
            f"{what} is in use by process {process} on {host}: wait for it; if it is gone, delete "
            f"{path}{remedy}."
        ) from error
    try:
        yield
    finally:
        holder.release()
