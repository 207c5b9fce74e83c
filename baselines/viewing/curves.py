"""Learning curves of runs: different seeds of equal settings are one line with a band."""

import io
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from baselines.settings import check_file
from baselines.training import run_folder as runs
from baselines.training.config import RunConfig
from baselines.training.run_folder import Run
from tile_envs.errors import UsageError
from tile_envs.files import write_file
from tile_envs.game import Floats

AXES = {"games": ("games", 1.0), "minutes": ("seconds", 1 / 60), "steps": ("timesteps", 1.0)}
"""By what curves are drawn against: the column of progress, and its unit."""
FILE = Path(__file__).with_name("pictures.mplstyle")
STYLE = mpl.rc_params_from_file(FILE, use_default_template=False)
COLORS: tuple[str, ...] = tuple(STYLE["axes.prop_cycle"].by_key()["color"])
MOST_OPTIONS = 4  # that a label names, so that the legend is narrower than the picture
styled = partial(mpl.rc_context, STYLE)  # all pictures are drawn in the body of `with styled()`


class Curve(NamedTuple):
    """The learning curve of one run."""

    folder: Path
    config: RunConfig
    xs: Floats
    ys: Floats


class Band(NamedTuple):
    """The mean, lowest and highest values of runs of different seeds, or of a single run."""

    label: str
    xs: Floats
    mean: Floats
    low: Floats
    high: Floats


def plot(folders: Sequence[Path], out: Path, against: str = "games", metric: str = "") -> None:
    """Draw the learning curves of runs to a file; the arguments are those of the command `plot`."""
    check_file(out, (".png", ".svg"), "a picture is")
    if not folders:
        raise UsageError("plot needs the folder of a run, such as runs/*.")
    folders = runs.with_runs(list({folder.resolve(): folder for folder in folders}.values()))
    metric = metric or _usual_metric(folders)
    bands = bands_of([read_curve(folder, against, metric) for folder in folders])
    with styled():
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axis = figure.subplots()
        for band in bands:
            (line,) = axis.plot(band.xs, band.mean, label=band.label, marker=".", markersize=4)
            axis.fill_between(band.xs, band.low, band.high, color=line.get_color(), alpha=0.2)
        axis.set(xlabel=against, ylabel=metric.replace("_", " "))
        for numbers in (axis.xaxis, axis.yaxis):
            numbers.set_major_formatter(lambda value, _: f"{value:,.10g}")
        if 0 < len(bands) <= 12:  # the legend of more would hide them
            axis.legend()
    write_file(out, drawn(figure, out.suffix[1:]))


def drawn(figure: Figure, suffix: str, metadata: dict[str, str | None] | None = None) -> bytes:
    written = io.BytesIO()
    with styled():
        figure.savefig(written, format=suffix, bbox_inches="tight", metadata=metadata, dpi=150)
    return written.getvalue()


def read_curve(folder: Path, against: str, metric: str) -> Curve:
    rows, (column, unit) = runs.read_progress(folder), AXES[against]
    has = list(rows[0] if rows else ())
    column = "moves" if against == "steps" and column not in has else column
    if missing := [name for name in (column, metric) if name not in has]:
        raise UsageError(
            f"the progress of {folder} has no {missing[0]!r}: it has {', '.join(has) or 'none'}. "
            "Leave this run out, or choose by --metric and --against."
        )
    points = [(row[column], row[metric]) for row in rows if row[column] and row[metric]]
    xs, ys = np.array(points, np.float64).reshape(-1, 2).T
    finite = np.isfinite(ys)
    return Curve(folder, Run.read(folder).config, xs[finite] * unit, ys[finite])


def _usual_metric(folders: Sequence[Path]) -> str:
    """Return the first metric that all runs have, of tests where there is one."""
    first = {folder: (runs.read_progress(folder) or [{}])[0] for folder in folders}
    places = {column for column, _ in AXES.values()}
    metrics = {folder: [n for n in row if n not in places] for folder, row in first.items()}
    common = [name for name in metrics[folders[0]] if all(name in m for m in metrics.values())]
    if not common:
        has = [f"{folder} has {', '.join(names) or 'none'}" for folder, names in metrics.items()]
        raise UsageError(f"no metric can be drawn of all these runs: {'; '.join(has)}.")
    return next((name for name in common if name.startswith("greedy_")), common[0])


def bands_of(curves: Sequence[Curve]) -> list[Band]:
    """Return one band for the curves of different seeds of equal settings.

    Straight lines join the points of a seed; a band is where at least two seeds have values.
    Curves are bands of their own if two of them are of one seed, or if no two of them meet.
    """
    groups = defaultdict[str, list[Curve]](list)
    for curve in curves:
        if len(curve.xs):
            groups[curve.config.recipe].append(curve)
    labels = _labels([group[0].config.learned() for group in groups.values()])
    bands = []
    for label, group in zip(labels, groups.values(), strict=True):
        n_seeds = len({curve.config.seed for curve in group})
        band = _band(f"{label}, {n_seeds} seeds" if n_seeds > 1 else label, group)
        if n_seeds == len(group) and len(band.xs):
            bands.append(band)
        else:
            print(f"no band of {label}: seeds come twice or do not meet", file=sys.stderr)
            bands += [_band(f"{label}, seed {c.config.seed}, {c.folder}", [c]) for c in group]
    return bands


def _band(label: str, curves: Sequence[Curve]) -> Band:
    xs = np.unique(np.concatenate([curve.xs for curve in curves]))
    outside = {"left": np.nan, "right": np.nan}
    ys = np.array([np.interp(xs, curve.xs, curve.ys, **outside) for curve in curves])
    meeting = np.isfinite(ys).sum(axis=0) >= min(2, len(curves))
    xs, ys = xs[meeting], ys[:, meeting]
    return Band(label, xs, np.nanmean(ys, axis=0), np.fmin.reduce(ys), np.fmax.reduce(ys))


def _labels(kinds: Sequence[dict[str, Any]]) -> list[str]:
    """Return names for kinds of runs: the agent, and the first options in which they differ."""
    # An option that is not given counts as a value of its own; agents differ in their settings.
    of_envs = dict.fromkeys({name for kind in kinds for name in kind["env_kwargs"]}, "default")
    options = [
        {"env": kind["env"], f"{kind['agent']} version": kind["agent_version"]}
        | {**of_envs, **kind["env_kwargs"], **kind["settings"]}
        for kind in kinds
    ]
    labels = []
    for kind, option in zip(kinds, options, strict=True):
        label, differing = kind["agent"].rpartition(":")[2], []
        for name, value in option.items():
            if len({json.dumps(each[name]) for each in options if name in each}) > 1:
                differing.append(f"{name} {f'{value:,}' if type(value) in (int, float) else value}")
        more = ["…"] * (len(differing) > MOST_OPTIONS)
        labels.append(", ".join([label, *differing[:MOST_OPTIONS], *more]))
    return labels
