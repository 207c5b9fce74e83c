"""A training run is a folder: what was asked for, what came of it, and where it can go on.

    config.json     the agent, the environment, all settings, the seed, versions
    progress.csv    one line a report; the same figures are there as TensorBoard events
    checkpoint.npz  all that the learner knows

Learners learn in rounds whose random numbers are a function of the seed and the round (`learner`).
So a run that was killed goes on from its last checkpoint and ends where it would have ended.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import time
import zipfile
import zlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tqdm import tqdm

from baselines.learner import BatchLearner, State

CONFIG, CHECKPOINT, PROGRESS = "config.json", "checkpoint.npz", "progress.csv"
ENTRIES = {"agent", "env", "env_kwargs", "sides", "settings", "seed"}
PACKAGES = ("tile-envs", "numpy", "gymnasium", "torch")
CHECKPOINT_SECONDS = 30
REPORTS = 100
"""How many lines of progress a whole run makes."""


def begin(folder: Path, config: Mapping[str, Any]) -> None:
    """Make a run's folder.

    Args:
        folder: Where.
        config: The `ENTRIES`, as JSON has them.

    Raises:
        ValueError: If there is a run already.
    """
    if (folder / CONFIG).exists():
        raise ValueError(f"{folder} holds a run already: give --resume, or another --out.")
    folder.mkdir(parents=True, exist_ok=True)
    versions = {package: version(package) for package in PACKAGES}
    text = json.dumps({**config, "versions": versions}, indent=2) + "\n"
    _replace(folder / CONFIG, text.encode())


def go_on(folder: Path, config: Mapping[str, Any], learner: BatchLearner) -> None:
    """Give a learner what the run in a folder knew at its last checkpoint.

    Raises:
        ValueError: If there is no run, its checkpoint is damaged, or other settings are asked for.
    """
    known, asked = read_config(folder), json.loads(json.dumps(config))
    for entry in sorted(ENTRIES - {"settings"}):
        known["settings"][entry], asked["settings"][entry] = known[entry], asked[entry]
    differing = [
        f"{name} was {value!r} and is now {asked['settings'].get(name)!r}"
        for name, value in known["settings"].items()
        if asked["settings"].get(name) != value
    ]
    if differing:
        raise ValueError(f"{folder} goes on as it began only: {'; '.join(differing)}.")
    if (folder / CHECKPOINT).exists():
        learner.restore(read_checkpoint(folder))


def train(folder: Path, learner: BatchLearner, games: int, minutes: float | None = None) -> None:
    """Let a learner learn under a progress bar, with checkpoints, up to its budget.

    Ctrl-C ends this sitting after a checkpoint; the run can go on later.

    Args:
        folder: The run's folder.
        learner: The learner.
        games: How many games of each side in all, earlier sittings included.
        minutes: So many minutes by the clock on the wall end this sitting, too.
    """
    report_every = max(1, games // REPORTS)
    began = saved = time.monotonic()
    bar = tqdm(total=games, initial=learner.games, unit=" games", desc=folder.name)
    with _Log(folder, learner.games) as log, bar:
        try:
            while learner.games < games:
                before = learner.games
                figures = learner.learn()
                bar.update(learner.games - before)
                if before // report_every != learner.games // report_every:
                    bar.set_postfix({name: f"{value:.4g}" for name, value in figures.items()})
                    log.write(learner.games, figures)
                now = time.monotonic()
                if now - saved > CHECKPOINT_SECONDS:
                    write_checkpoint(folder, learner.state())
                    saved = now
                if minutes is not None and now - began > 60 * minutes:
                    break
        except KeyboardInterrupt:
            words = f"stopped after {learner.games:,} games: --resume goes on"
            bar.write(words, file=sys.stderr)
        write_checkpoint(folder, learner.state())


def write_checkpoint(folder: Path, state: State) -> None:
    """Write a checkpoint beside the last one and rename it: there is always a whole one.

    Raises:
        OSError: If it cannot be written; the last one is still there then.
    """
    beside = folder / f"{CHECKPOINT}.part"
    with beside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **state)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / CHECKPOINT)


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


class _Log:
    """Lines of progress, in a CSV file and for TensorBoard."""

    def __init__(self, folder: Path, games: int) -> None:
        # What was reported after the checkpoint that the run goes on from will be reported again.
        path = folder / PROGRESS
        rows: list[dict[str, Any]] = []
        if path.exists():
            lines = csv.DictReader(path.read_text().splitlines())
            rows = [row for row in lines if int(row["games"]) <= games]
        self._rows, self._path = rows, path
        self._events = EventFileWriter(str(folder))

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *exception: object) -> None:
        self._events.close()

    def write(self, games: int, figures: Mapping[str, float]) -> None:
        self._rows.append({"games": games, **figures})
        with self._path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(self._rows[-1]))
            writer.writeheader()
            writer.writerows(self._rows)
        values = [
            Summary.Value(tag=f"train/{name}", simple_value=value)
            for name, value in figures.items()
        ]
        event = Event(wall_time=time.time(), step=games, summary=Summary(value=values))
        self._events.add_event(event)


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f"{path.name}.part")
    beside.write_bytes(content)
    beside.replace(path)
