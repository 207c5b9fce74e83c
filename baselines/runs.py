"""A training run is a folder: what was asked for, what came of it, and where it can go on.

    config.json     the agent, the environment, all settings, the seed, versions
    progress.csv    one line a report; the same figures are there as TensorBoard events
    checkpoint.npz  all that the learner knows
    last.zip        for learners on Stable-Baselines3, the model as that library writes it, with the
    best.zip        checkpoint and at the best test

Learners learn in rounds whose random numbers are a function of the seed and the round (`learner`).
So a run that was killed goes on from its last checkpoint and ends where it would have ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tqdm import tqdm

from baselines.learner import Learner, State
from baselines.tables import Row, read_rows, write_rows

CONFIG, CHECKPOINT, PROGRESS = "config.json", "checkpoint.npz", "progress.csv"
LAST, BEST = "last.zip", "best.zip"
FORMAT = 2
"""Counts up whenever a checkpoint means something else than before."""
ENTRIES = {"agent", "env", "env_kwargs", "sides", "settings", "seed"}
ELSEWHERE = {"device"}
"""Settings that say where a run is, not what it is; it may go on with others."""
PACKAGES = ("tile-envs", "numpy", "gymnasium", "torch")
CHECKPOINT_SECONDS = 30
FIRST_CHECKPOINT_SECONDS = 5
CHECKPOINT_SHARE = 0.1
"""The share of the time that writing checkpoints may take."""
REPORTS = 100
"""How many lines of progress a whole run makes."""
REPORT_SECONDS = 10
"""After so long there is a line in any case."""


def begin(folder: Path, config: Mapping[str, Any], advice: str = "give --resume, or ") -> None:
    """Make a run's folder.

    Args:
        folder: Where.
        config: The `ENTRIES`, as JSON has them.
        advice: What else the user can do about a folder that holds a run, before "another --out".

    Raises:
        ValueError: If there is a run already, or the folder is a file.
    """
    if (folder / CONFIG).exists():
        raise ValueError(f"{folder} holds a run already: {advice}another --out.")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, and a run is a folder: give another --out.")
    folder.mkdir(parents=True, exist_ok=True)
    versions = {package: version(package) for package in PACKAGES}
    text = json.dumps({**config, "format": FORMAT, "versions": versions}, indent=2) + "\n"
    _replace(folder / CONFIG, text.encode())


def go_on(folder: Path, config: Mapping[str, Any], learner: Learner) -> None:
    """Give a learner what the run in a folder knew at its last checkpoint.

    Raises:
        ValueError: If there is no run, its checkpoint is damaged, or other settings are asked for.
    """
    known, asked = read_config(folder), json.loads(json.dumps(config))
    if known.get("exported"):
        raise ValueError(f"{folder} was exported to be played with: go on with the run it is of.")
    for entry in sorted(ENTRIES - {"settings"}):
        known["settings"][entry], asked["settings"][entry] = known[entry], asked[entry]
    differing = [
        f"{name} was {value!r} and is now {asked['settings'].get(name)!r}"
        for name, value in known["settings"].items()
        if asked["settings"].get(name) != value and name not in ELSEWHERE
    ]
    if differing:
        raise ValueError(f"{folder} goes on as it began only: {'; '.join(differing)}.")
    if (folder / CHECKPOINT).exists():
        learner.restore(read_checkpoint(folder))


def train(folder: Path, learner: Learner, games: int, minutes: float | None = None) -> bool:
    """Let a learner learn under a progress bar, with tests and checkpoints, up to its budget.

    Ctrl-C or SIGTERM ends this sitting after the round that is being played, with a checkpoint; the
    run can go on later.  A second one ends it at once, with the last checkpoint.

    Args:
        folder: The run's folder.
        learner: The learner.
        games: How many games of each side in all, earlier sittings included.
        minutes: So many minutes by the clock on the wall, spent learning, end this sitting, too.

    Returns:
        Whether the budget was used up, not stopped short of.
    """
    report_every = max(1, games // REPORTS)
    written = 0.0  # seconds
    reported = time.monotonic()
    saved = reported - max(0, CHECKPOINT_SECONDS - FIRST_CHECKPOINT_SECONDS)
    figures: dict[str, float] = {}
    tested: dict[str, float] = {}
    bar = _bar(folder.name, learner.games, games, minutes)
    with _Log(folder, learner.games) as log, bar, _interrupts() as interrupted:
        before_sitting = learned = log.seconds
        while learner.games < games and not interrupted.is_set():
            before, began = learner.games, time.monotonic()
            figures = learner.learn()
            now = time.monotonic()
            learned += now - began
            bar.update(learner.games - before)
            crossed = before // report_every != learner.games // report_every
            if crossed or now - reported > REPORT_SECONDS:
                bar.set_postfix_str(_told(figures))
                log.write(learner.games, learned, figures)
                reported = now
            tested = {}
            if _test_is_due(before, learner.games, learner.first_test):
                tested = learner.test(learner.test_games)
            if tested:
                log.write(learner.games, learned, figures | tested)
                _save_if_best(folder, learner, log, tested)
            if now - saved > max(CHECKPOINT_SECONDS, written / CHECKPOINT_SHARE):
                _save(folder, learner)
                saved = time.monotonic()
                written = saved - now
            if minutes is not None and learned - before_sitting > 60 * minutes:
                break
        finished = not interrupted.is_set()
        if finished and figures:
            tested = tested or learner.test(learner.test_games)
            log.write(learner.games, learned, figures | tested)
            _save_if_best(folder, learner, log, tested)
        _save(folder, learner)
    if finished and tested:
        print(f"test of {learner.test_games:,} games: {_told(tested)}", file=sys.stderr)
    return finished


def _bar(name: str, begun: int, games: int, minutes: float | None) -> tqdm[Any]:
    """Return a bar that fills with games, or a line if the clock ends the sitting."""
    if minutes is None:
        return tqdm(total=games, initial=begun, unit=" games", desc=name, dynamic_ncols=True)
    line = f"{{desc}}: {{n_fmt}} games in {{elapsed}} of {minutes:g} min{{postfix}}"
    return tqdm(initial=begun, desc=name, dynamic_ncols=True, bar_format=line)


def _told(figures: Mapping[str, float]) -> str:
    """Return figures in one line, without those that are 0."""
    return ", ".join(f"{name} {value:,.4g}" for name, value in figures.items() if value)


def write_checkpoint(folder: Path, state: State, compressed: bool = False) -> None:
    """Write a checkpoint beside the last one and rename it: there is always a whole one.

    Args:
        folder: The run's folder.
        state: What the learner knows.
        compressed: Whether to take many times as long for a smaller file.

    Raises:
        OSError: If it cannot be written; the last one is still there then.
    """
    with _in_place_of(folder / CHECKPOINT) as beside, beside.open("wb") as file:
        save = np.savez_compressed if compressed else np.savez
        save(file, allow_pickle=False, **state)
        file.flush()
        os.fsync(file.fileno())


def read_config(folder: Path) -> dict[str, Any]:
    """Return what a run was asked for.

    Raises:
        ValueError: If the folder holds no run, or a damaged one.
    """
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{folder} holds no run: {CONFIG}: {error.strerror}.") from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}.") from None
    if not isinstance(config, dict) or not config.keys() >= ENTRIES:
        raise ValueError(f"{path} is not that of a run: expected {', '.join(sorted(ENTRIES))}.")
    if config.get("format", FORMAT) != FORMAT:
        raise ValueError(
            f"{folder} was written in format {config['format']}, this version reads {FORMAT}."
        )
    return config


def read_checkpoint(folder: Path) -> State:
    """Return what a run's learner knew.

    Raises:
        ValueError: If there is no checkpoint, or it is damaged.
    """
    path = folder / CHECKPOINT
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        raise ValueError(f"{folder} has no {CHECKPOINT}: it was stopped too early.") from None
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged, or no checkpoint: {error}.") from None


def read_progress(folder: Path) -> list[Row]:
    """Return the lines that a run has reported, as text by column; none if it has not begun."""
    path = folder / PROGRESS
    return read_rows(path) if path.exists() else []


@contextmanager
def _in_place_of(path: Path) -> Iterator[Path]:
    """Give a path beside this one; what is written there, if anything, then takes its place."""
    beside = path.with_name(f"{path.name}.part")
    yield beside
    if beside.exists():
        beside.replace(path)


def _save(folder: Path, learner: Learner) -> None:
    write_checkpoint(folder, learner.state())
    _save_model(folder, learner, LAST)


def _save_if_best(folder: Path, learner: Learner, log: _Log, tested: Mapping[str, float]) -> None:
    """Save the model if no test has found a better one; the first figure of a test counts."""
    for name, value in list(tested.items())[:1]:
        if value >= log.highest(name):
            _save_model(folder, learner, BEST)


def _save_model(folder: Path, learner: Learner, name: str) -> None:
    with _in_place_of(folder / name) as beside:
        learner.save_model(beside)


class _Log:
    """Lines of progress, in a CSV file and for TensorBoard."""

    def __init__(self, folder: Path, games: int) -> None:
        # What was reported after the checkpoint that the run goes on from will be reported again.
        rows = [row for row in read_progress(folder) if int(row["games"]) <= games]
        self.seconds = float(rows[-1]["seconds"]) if rows else 0.0  # of earlier sittings
        self._rows, self._path = rows, folder / PROGRESS
        self._events = EventFileWriter(str(folder))

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *exception: object) -> None:
        self._events.close()

    def highest(self, name: str) -> float:
        """Return the highest value of a figure so far."""
        return max(float(row[name]) for row in self._rows if row.get(name))

    def write(self, games: int, seconds: float, figures: Mapping[str, float]) -> None:
        """Add a line; one for the same number of games is replaced."""
        if self._rows and int(self._rows[-1]["games"]) == games:
            self._rows.pop()
        self._rows.append({"games": games, "seconds": round(seconds, 1), **figures})
        with _in_place_of(self._path) as beside:
            write_rows(self._rows, beside)
        values = [
            Summary.Value(tag=f"train/{name}", simple_value=value)
            for name, value in figures.items()
        ]
        event = Event(wall_time=time.time(), step=games, summary=Summary(value=values))
        self._events.add_event(event)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Note the first Ctrl-C or SIGTERM instead of letting it cut a round in two."""
    interrupted = threading.Event()

    def note(*_: object) -> None:
        interrupted.set()
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    if threading.current_thread() is not threading.main_thread():
        yield interrupted  # only the main thread may ask for signals
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        restore()


def _test_is_due(before: int, games: int, first: int) -> bool:
    """Tell whether games have passed one of 1, 2, 5, 10, 20, 50 … times `first`."""
    tens = 10 ** max(0, len(str(games // first)) - 1)
    return any(before < n * tens * first <= games for n in (1, 2, 5))


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f"{path.name}.part")
    beside.write_bytes(content)
    beside.replace(path)
