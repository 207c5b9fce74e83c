"""The picture of speed against the number of games at once."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from baselines.viewing.figures import MARKERS, styled, svg
from benchmarks.figures.numbers import separated, short
from benchmarks.results import Row
from benchmarks.rows import Committed
from benchmarks.speed.environments import GAMES
from benchmarks.speed.turns import OURS, STEPS_PER_SECOND


def by_size(committed: Committed) -> bytes:
    """Draw steps per second against the number of games at once, a panel for each game."""
    lines = _lines(committed)
    names = sorted({name for of_game in lines.values() for name in of_game}, key=_ours_first)
    with styled():
        figure = Figure(figsize=(4.2 * len(lines), 4.2), layout="constrained")
        axes = figure.subplots(1, len(lines), sharey=True, squeeze=False)[0]
        for axis, (game, of_game) in zip(axes, lines.items(), strict=True):
            for place, name in enumerate(names):
                style = {"color": f"C{place}", "marker": MARKERS[place], "markersize": 4}
                points = zip(*of_game.get(name, [(np.nan, np.nan)]), strict=True)
                axis.loglog(*points, label=name, **style)
            axis.set(title=game, xlabel="games at once")
            axis.xaxis.set_major_formatter(FuncFormatter(separated))
        axes[0].set_ylabel("steps per second of CPU time")
        axes[0].yaxis.set_major_formatter(FuncFormatter(short))
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return svg(figure, lines)


def _lines(committed: Committed) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return the points of each line, by game and name."""
    lines: dict[str, dict[str, list[tuple[int, float]]]] = {game: {} for game in GAMES}
    for row in committed.rows("speed"):
        if row["measure"] == STEPS_PER_SECOND:
            point = int(row["num_envs"]), float(row["value"])
            lines[row["game"]].setdefault(_name(row), []).append(point)
    return {
        game: {name: sorted(points) for name, points in of_game.items()}
        for game, of_game in lines.items()
    }


def _ours_first(name: str) -> tuple[bool, str]:
    return OURS not in name, name


def _name(row: Row) -> str:
    if row["package"] != OURS:
        return str(row["package"])
    return f"{OURS}, {'one game' if row['kind'] == 'single' else row['kind']}"
