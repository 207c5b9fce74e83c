"""Learning curves of runs: runs that differ in nothing but their seed are one line with a band."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from baselines.training import run_folder as runs
from baselines.viewing.figures import drawn, styled
from tile_envs.base.checks import checked_choice
from tile_envs.errors import UsageError
from tile_envs.files import checked_file, write_file

Floats = NDArray[np.float64]

SUFFIXES = (".png", ".svg")
AXES = {"games": ("games", 1.0), "minutes": ("seconds", 1 / 60), "steps": ("timesteps", 1.0)}
"""By what curves are drawn against: the column of progress, and its unit."""
TESTED = "greedy_"
"""How the names of the metrics of tests begin."""
MOST_LABELS = 12
"""With more lines than this, a legend would hide them."""


class Curve(NamedTuple):
    """The learning curve of one run, with the run's configuration."""

    config: dict[str, Any]
    xs: Floats
    ys: Floats


class Band(NamedTuple):
    """The mean, lowest and highest values of runs that differ in nothing but their seed."""

    label: str
    xs: Floats
    mean: Floats
    low: Floats
    high: Floats


def plot(folders: Sequence[Path], out: Path, against: str = "games", metric: str = "") -> None:
    """Draw the learning curves of runs.

    Args:
        folders: The folders of the runs.
        out: The file to write, `.png` or `.svg`.
        against: "games", "minutes" of learning, or "steps".
        metric: A column of `progress.csv`; the first one of the tests if empty.

    Raises:
        ValueError: If an argument is not as described, a folder holds no run, or a run has no such
            column.
    """
    checked_choice(against, "against", tuple(AXES))
    checked_file(out, SUFFIXES, "a picture is")
    if not folders:
        raise UsageError("plot needs the folder of a run, such as runs/*.")
    folders = runs.with_runs(folders)
    metric = metric or _usual_metric(folders[0])
    bands = bands_of([read_curve(folder, against, metric) for folder in folders])
    write_file(out, drawn(_figure(bands, against, metric), out.suffix[1:]))


def read_curve(folder: Path, against: str, metric: str) -> Curve:
    """Read the curve of a run.

    Raises:
        ValueError: If there is no run, or its progress lacks a column.
    """
    config, rows = runs.read_config(folder), runs.read_progress(folder)
    column, unit = AXES[against]
    columns = list(rows[0] if rows else ())
    for name in (column, metric):
        if name not in columns:
            raise UsageError(
                f"the progress of {folder} has no {name!r}: it has {', '.join(columns)}. Leave "
                "this run out, or choose by --metric and --against."
            )
    points = [(row[column], row[metric]) for row in rows if row[column] and row[metric]]
    xs, ys = np.array(points, np.float64).reshape(-1, 2).T
    finite = np.isfinite(ys)
    return Curve(config, xs[finite] * unit, ys[finite])


def bands_of(curves: Sequence[Curve]) -> list[Band]:
    """Return one band for the curves of runs that differ in nothing but their seed.

    Where the points of seeds are not at the same places, straight lines join them; a band ends
    where the first of its curves does.
    """
    groups: dict[str, list[Curve]] = {}
    for curve in curves:
        if len(curve.xs):
            kind = {name: curve.config[name] for name in (*runs.TASK, "settings") if name != "seed"}
            groups.setdefault(json.dumps(kind, sort_keys=True), []).append(curve)
    labels = _labels([json.loads(key) for key in groups])
    bands = []
    for label, group in zip(labels, groups.values(), strict=True):
        begin = max(curve.xs[0] for curve in group)
        end = min(curve.xs[-1] for curve in group)
        places = np.unique(np.concatenate([curve.xs for curve in group]))
        places = places[(begin <= places) & (places <= end)]
        ys = np.array([np.interp(places, curve.xs, curve.ys) for curve in group])
        label += f", {len(group)} seeds" if len(group) > 1 else ""
        bands.append(Band(label, places, ys.mean(axis=0), ys.min(axis=0), ys.max(axis=0)))
    return bands


def _labels(kinds: Sequence[dict[str, Any]]) -> list[str]:
    """Return names for kinds of runs: the agent, and the options in which they differ."""
    options = [{"env": kind["env"], **kind["env_kwargs"], **kind["settings"]} for kind in kinds]
    values: dict[str, set[str]] = {}
    for name, value in (item for option in options for item in option.items()):
        values.setdefault(name, set()).add(json.dumps(value))
    return [
        ", ".join(
            [
                kind["agent"].rpartition(":")[2],
                *(f"{name} {value}" for name, value in option.items() if len(values[name]) > 1),
            ]
        )
        for kind, option in zip(kinds, options, strict=True)
    ]


def _usual_metric(folder: Path) -> str:
    runs.read_config(folder)  # there is a run
    rows = runs.read_progress(folder)
    columns = list(rows[0] if rows else ())
    tested = [name for name in columns if name.startswith(TESTED)]
    if not tested:
        raise UsageError(
            f"the progress of {folder} has no tests yet: name one of its metrics by --metric, "
            f"{', '.join(columns) or 'of which there are none'}."
        )
    return tested[0]


def _figure(bands: Sequence[Band], against: str, metric: str) -> Figure:
    with styled():
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axis = figure.subplots()
        for band in bands:
            (line,) = axis.plot(band.xs, band.mean, label=band.label, marker=".", markersize=4)
            axis.fill_between(band.xs, band.low, band.high, color=line.get_color(), alpha=0.2)
        axis.set(xlabel=against, ylabel=metric.replace("_", " "))
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        if 0 < len(bands) <= MOST_LABELS:
            axis.legend()
    return figure
