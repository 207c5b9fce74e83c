"""The picture of strength against the time of a move, which search takes more of."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from baselines.viewing.figures import MARKERS, styled, svg
from benchmarks.experiments import GAME_2048
from benchmarks.figures.numbers import separated, short
from benchmarks.figures.players import LEARNERS, training
from benchmarks.results import Row
from benchmarks.rows import MARK, Committed, published

Point = tuple[float, float, int]
"""Milliseconds of a move, mean score, and search depth."""
ELSEWHERE = "on another machine"


def by_milliseconds(committed: Committed) -> bytes:
    """Draw mean scores of 2048 against the milliseconds of a move, with search depths as labels."""
    lines = _lines(committed) | _published()
    with styled():
        figure = Figure(figsize=(7.4, 4.2), layout="constrained")
        axis = figure.subplots()
        for (label, points), marker in zip(lines.items(), MARKERS, strict=False):
            style = "--" if label.endswith(ELSEWHERE) else "-"
            times, means, depths = zip(*points, strict=True)
            axis.semilogx(times, means, style, label=label, marker=marker, markersize=5)
            for time, mean, depth in zip(times, means, depths, strict=True):
                axis.annotate(
                    f"{depth}-ply", (time, mean), (5, -10), textcoords="offset points", fontsize=7
                )
        axis.set(xlabel="milliseconds per move", ylabel="mean score of 2048")
        axis.xaxis.set_major_formatter(FuncFormatter(separated))
        axis.yaxis.set_major_formatter(FuncFormatter(short))
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=8)
    return svg(figure, lines)


def _lines(committed: Committed) -> dict[str, list[Point]]:
    """Return the points of each agent that has been evaluated with search and without."""
    agents: dict[str, list[Row]] = {}
    for table, name in LEARNERS.items():
        for row in committed.rows(table):
            timed = row["minutes"] and row["train_seed"] == "0"
            if row["env"] == GAME_2048 and timed:
                label = f"{name}, {training(row)}"
                agents.setdefault(label, []).append(row)
    lines = {}
    for label, rows in agents.items():
        if len(rows) > 1:
            mark = MARK if any(row["is_stale"] for row in rows) else ""
            lines[label + mark] = sorted(map(_point, rows))
    return lines


def _point(row: Row) -> Point:
    return 1000 / float(row["moves_per_second"]), float(row["mean"]), int(row["depth"])


def _published() -> dict[str, list[Point]]:
    lines: dict[str, list[Point]] = {}
    for figure in published("ntuple"):
        speed, depth = _speed(figure.get("speed")), figure.get("depth")
        if speed and isinstance(depth, int) and "mean" in figure:
            label = f"{figure['source'].citation}, {ELSEWHERE}"
            lines.setdefault(label, []).append((1000 / speed, float(figure["mean"]), depth))
    return {label: sorted(points) for label, points in lines.items() if len(points) > 1}


def _speed(text: object) -> float:
    """Return the moves per second that a figure gives; 0 if it gives none, or a range."""
    try:
        return float(str(text).replace(",", ""))
    except ValueError:
        return 0.0
