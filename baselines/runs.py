"""A training run is a folder: its configuration, its progress, its checkpoint.

    config.json     the agent, the task, all settings, the seed, versions
    progress.csv    metrics, one line a report; TensorBoard events hold the same
    checkpoint.npz  the learner's state
    last.zip        for learners on Stable-Baselines3, the model as that library writes it, saved
    best.zip        with the checkpoint, and at the best test

The random numbers of an iteration are a function of the run's seed and the iteration (`learner`),
so a run that was killed is resumed from its last checkpoint and ends where it would have ended.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from baselines.learner import Learner, State, settings_of
from baselines.rows import Row, read_rows, replacing, write_file

CONFIG, CHECKPOINT, PROGRESS = "config.json", "checkpoint.npz", "progress.csv"
LAST, BEST = "last.zip", "best.zip"
MODEL_SUFFIX = ".zip"
"""The suffix of the models of Stable-Baselines3."""
FORMAT = 3
"""Raised whenever a checkpoint means something else than before."""
ENTRIES = {"agent", "env", "env_kwargs", "sides", "settings", "seed"}
MAY_CHANGE = {"device"}
"""Settings that say where a run is trained, not what; it may be resumed with others."""
PACKAGES = ("tile-envs", "numpy", "gymnasium", "torch")


def begin(folder: Path, config: Mapping[str, Any], advice: str = "give --resume, or ") -> None:
    """Make a run's folder.

    Args:
        folder: Where.
        config: The `ENTRIES`, as JSON has them.
        advice: What the user can do about a folder that holds a run, before "another --out".

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
    write_file(folder / CONFIG, text.encode())


def resume(folder: Path, config: Mapping[str, Any], learner: Learner) -> None:
    """Restore a learner from the last checkpoint of the run in a folder.

    Raises:
        ValueError: If there is no run, its checkpoint is damaged, or other settings are asked for.
    """
    known, asked = read_config(folder), json.loads(json.dumps(config))
    if known.get("exported"):
        raise ValueError(f"{folder} was exported and cannot learn: resume the run that it is of.")
    for entry in sorted(ENTRIES - {"settings"}):
        known["settings"][entry], asked["settings"][entry] = known[entry], asked[entry]
    differing = [
        f"{name} was {value!r} and is now {asked['settings'].get(name)!r}"
        for name, value in known["settings"].items()
        if asked["settings"].get(name) != value and name not in MAY_CHANGE
    ]
    if differing:
        raise ValueError(f"{folder} can be resumed only as it began: {'; '.join(differing)}.")
    if (folder / CHECKPOINT).exists():
        learner.restore(read_checkpoint(folder))


def write_checkpoint(folder: Path, state: State, compressed: bool = False) -> None:
    """Write a checkpoint beside the last one and rename it: there is always a whole one.

    Args:
        folder: The run's folder.
        state: The learner's state.
        compressed: Whether to compress it, which takes many times as long.

    Raises:
        OSError: If it cannot be written; the last one is still there then.
    """
    with replacing(folder / CHECKPOINT) as beside, beside.open("wb") as file:
        save = np.savez_compressed if compressed else np.savez
        save(file, allow_pickle=False, **state)
        file.flush()
        os.fsync(file.fileno())


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of a run.

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
            f"{folder} was written in format {config['format']}, this version reads {FORMAT}: "
            "train again."
        )
    return config


def read_settings(folder: Path, config: Mapping[str, Any], learner: type[Learner]) -> Any:
    """Return the settings that a run's configuration holds.

    Raises:
        ValueError: If they are none of this learner.
    """
    try:
        known, given = {field.name for field in fields(learner.Settings)}, config["settings"]
        if unknown := given.keys() - known:
            raise ValueError(f"{', '.join(sorted(unknown))} is no setting of {config['agent']}")
        return settings_of(learner, given)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{folder / CONFIG} has been damaged: {error}.") from None


def read_checkpoint(folder: Path) -> State:
    """Return the state of a run's learner.

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
    """Return the lines of a run's progress, as text by column; none if there are none yet."""
    path = folder / PROGRESS
    return read_rows(path) if path.exists() else []
