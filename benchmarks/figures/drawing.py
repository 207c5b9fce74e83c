"""What pictures share: panels, the look of each player, labels at the ends of lines."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullLocator

from baselines.viewing.curves import COLORS, drawn, styled
from benchmarks.results import Row
from benchmarks.rows import kind

_BLUE, _RED, _GREEN, _PINK, _, _ORANGE, _, _, _GRAY = COLORS
PUBLISHED = "published"
LOOKS: dict[str, dict[str, Any]] = {
    "random": {"color": _GRAY, "linestyle": ":"},
    "greedy": {"color": _GRAY, "linestyle": "--"},
    "strong": {"color": _GREEN},
    "n-tuple network": {"color": _RED},
    "DQN": {"color": _BLUE},
    "PPO": {"color": "#9467bd"},
    "CNN": {"color": _PINK},
    PUBLISHED: {"color": _ORANGE, "linestyle": ":"},
}
"""The one line of each player, the same in all pictures."""
WIDEST = 120  # points that a label is wide at most
INK = "#808080"  # of texts and axes, readable on white and on black
STYLE = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
STYLE |= {"axes.edgecolor": INK, "axes.facecolor": "none", "grid.color": f"{INK}40"}


def player(row: Row) -> str:
    """Return which of `LOOKS` a row has."""
    if row["agent"] not in ("ntuple", "dqn", "ppo"):
        return str(row["agent"])
    return row["agent"].upper() if (name := kind(row)) == "pattern embeddings" else name


def picture(
    lines: Mapping[str, Any], width: float, height: float, draw: Callable[..., None], *more: Any
) -> bytes:
    """Return a picture: a panel for the lines of each game, of this size in inches.

    `draw(axis, game, lines)` draws one, before its lines are labeled; `more` is its other data.
    """
    with styled(), mpl.rc_context(STYLE):
        figure = Figure(figsize=(width * len(lines), height), layout="constrained")
        axes = figure.subplots(1, len(lines), squeeze=False)[0]
        for axis, (game, of_game) in zip(axes, lines.items(), strict=True):
            axis.set(title=game)
            draw(axis, game, of_game)
            label_ends(axis)
    return svg(figure, [lines, *more] if more else lines)


def svg(figure: Figure, data: Any) -> bytes:
    """Return a figure as SVG, without the time; its description stands for its data.

    So a picture is known to be old even where another matplotlib would draw other bytes.
    """
    figure.set_facecolor("none")
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()
    return drawn(figure, "svg", {"Date": None, "Description": f"data {digest}"})


def label_ends(axis: Axes, gap: float = 9) -> None:
    """Write the labels of lines beside their ends, without an overlap.

    Labels are moved up by steps of `gap` points; the axes must have their final limits.
    """
    axis.figure.draw_without_rendering()
    points, placed = axis.transData + axis.figure.dpi_scale_trans.inverted(), list[Any]()
    handles, labels = axis.get_legend_handles_labels()
    lines: list[Any] = [h[0] if isinstance(h, tuple) else h for h in handles]  # without errors
    ends = sorted(zip(lines, labels, strict=True), key=lambda it: it[0].get_ydata()[-1])
    for line, label in ends:
        (x, y), color = line.get_xydata()[-1], line.get_color()
        across, height = 72 * points.transform((x, y))
        at = height
        while any(abs(at - h) < gap and abs(across - a) < WIDEST for a, h in placed):
            at += gap
        placed.append((across, at))
        how: Any = {"textcoords": "offset points", "va": "center", "fontsize": 8, "color": color}
        axis.annotate(label, (x, y), xytext=(5, at - height), annotation_clip=False, **how)


def write_numbers(*axes: Any) -> None:
    """Write 1 k and 1 M on axes of numbers, and nothing at the ticks between."""
    for axis in axes:
        axis.set_major_formatter(EngFormatter(sep=""))
        axis.set_minor_locator(NullLocator())
