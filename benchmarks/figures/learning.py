"""The picture of strength against the minutes of learning."""

from __future__ import annotations

from matplotlib.figure import Figure

from baselines.viewing.figures import MARKERS, styled, svg
from benchmarks.figures.numbers import separated, short, write_numbers
from benchmarks.figures.players import GAMES, LEARNERS
from benchmarks.results import Row
from benchmarks.rows import MARK, Committed
from tile_envs.words import counted

Point = tuple[float, float, float, float]
"""Minutes, mean, and the lower and upper end of the band."""


def by_minutes(committed: Committed) -> bytes:
    """Draw mean scores without search against minutes of learning, a panel for each game.

    A band covers the training seeds; with one seed, the 95 % interval over the games.
    """
    lines = {name: _lines(committed, env) for env, name in GAMES.items()}
    with styled():
        figure = Figure(figsize=(4.9 * len(lines), 4.4), layout="constrained")
        axes = figure.subplots(1, len(lines), squeeze=False)[0]
        for axis, (game, of_game) in zip(axes, lines.items(), strict=True):
            for (label, points), marker in zip(of_game.items(), MARKERS, strict=False):
                minutes, means, lows, highs = zip(*points, strict=True)
                axis.loglog(minutes, means, label=label, marker=marker, markersize=4)
                axis.fill_between(minutes, lows, highs, alpha=0.2)
            axis.set(title=game, xlabel="minutes of learning")
            write_numbers(axis.xaxis, separated)
            write_numbers(axis.yaxis, short)
            axis.legend(fontsize=8)
        axes[0].set_ylabel("mean score, 1-ply")
    return svg(figure, lines)


def _lines(committed: Committed, env: str) -> dict[str, list[Point]]:
    """Return the points of each training that has been evaluated at several budgets."""
    trainings: dict[str, dict[float, list[Row]]] = {}
    for table in LEARNERS:
        for row in committed.rows(table):
            standard = (row["env"], row["env_kwargs"], row["depth"]) == (env, "{}", "1")
            if standard and row["minutes"]:
                at = trainings.setdefault(_label(table, row), {})
                at.setdefault(float(row["minutes"]), []).append(row)
    lines = {}
    for label, by_minute in trainings.items():
        seeds = max(len(rows) for rows in by_minute.values())
        rows = [row for of_minute in by_minute.values() for row in of_minute]
        mark = MARK if any(row["is_stale"] for row in rows) else ""
        name = f"{label} ({counted(seeds, 'seed')}){mark}"
        lines[name] = [_point(minutes, by_minute[minutes]) for minutes in sorted(by_minute)]
    return {name: points for name, points in lines.items() if len(points) > 1}


def _label(table: str, row: Row) -> str:
    return f"n-tuple, {row['label']}" if table == "ntuple" else str(row["label"])


def _point(minutes: float, rows: list[Row]) -> Point:
    means = [float(row["mean"]) for row in rows]
    if len(rows) == 1:
        return minutes, means[0], float(rows[0]["low"]), float(rows[0]["high"])
    return minutes, sum(means) / len(means), min(means), max(means)
