"""The picture of speed against the number of games at once."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from benchmarks.pictures.style import styled, svg
from benchmarks.speed.environments import GAMES
from benchmarks.tables.committed import Committed
from benchmarks.tables.speeds import OURS, STEPS

MARKERS = "os^Dv*"


def by_size(committed: Committed) -> bytes:
    """Draw steps per second against the number of games at once, a panel for each game."""
    rows = [row for row in committed.rows("speed") if row["measure"] == STEPS]
    games = [game for game in GAMES if any(row["game"] == game for row in rows)]
    names = sorted({_name(row) for row in rows}, key=lambda name: (OURS not in name, name))
    with styled():
        figure = Figure(figsize=(4.2 * len(games), 3.8))
        axes = figure.subplots(1, len(games), sharey=True, squeeze=False)[0]
        for place, (axis, game) in enumerate(zip(axes, games, strict=True)):
            for line, name in enumerate(names):
                points = sorted(
                    (int(row["num_envs"]), float(row["value"]))
                    for row in rows
                    if row["game"] == game and _name(row) == name
                )
                if points:
                    label = name if place == 0 else None
                    style = {"color": f"C{line}", "marker": MARKERS[line], "markersize": 4}
                    axis.loglog(*zip(*points, strict=True), label=label, **style)
            axis.set(title=game, xlabel="games at once")
            axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes[0].set_ylabel("steps per second of CPU time")
        axes[0].yaxis.set_major_formatter(FuncFormatter(_short))
        figure.legend(loc="outside lower center", ncols=3)
        figure.set_layout_engine("constrained")
    return svg(figure)


def _name(row: dict[str, str]) -> str:
    """Return a line's name; one game of ours begins the line of no engine."""
    if row["package"] != OURS:
        return row["package"]
    return f"{OURS}, {'one game' if row['kind'] == 'single' else row['kind']}"


def _short(value: float, _: int) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"
