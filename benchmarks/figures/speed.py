"""The pictures of speed: of environments, and of moves that are searched."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import EngFormatter

from baselines.viewing.figures import MARKERS, svg
from benchmarks.figures.drawing import SEPARATED, SLIDING, mark, panels
from benchmarks.results import Row
from benchmarks.rows import Committed, group, minutes, published, search_name
from benchmarks.speed.environments import GAMES
from benchmarks.speed.turns import OURS, STEPS_PER_SECOND

ELSEWHERE = "on another machine"

Point = tuple[float, float, str]
"""Milliseconds of a move, mean score, and what is searched."""


def by_size(committed: Committed) -> bytes:
    """Draw steps per second against the number of games at once, a panel for each game."""
    best: dict[str, dict[str, dict[int, float]]] = {game: {} for game in GAMES}
    for row in committed.rows("speed"):
        if row["measure"] == STEPS_PER_SECOND and row["game"] in GAMES:
            speeds, n = best[row["game"]].setdefault(_name(row), {}), int(row["num_envs"])
            speeds[n] = max(float(row["value"]), speeds.get(n, 0))
    lines = {game: {name: [*best[game][name].items()] for name in best[game]} for game in GAMES}
    names = {name for of_game in lines.values() for name in of_game}
    with panels(list(lines), 4.2, 4.2, sharey=True) as (figure, axes):
        for axis, of_game in zip(axes, lines.values(), strict=True):
            for place, name in enumerate(sorted(names, key=lambda name: (OURS not in name, name))):
                style = {"color": f"C{place}", "marker": MARKERS[place], "markersize": 4}
                points = zip(*of_game.get(name, [(np.nan, np.nan)]), strict=True)
                axis.loglog(*points, label=name, **style)
            axis.set(xlabel="games at once")
            axis.xaxis.set_major_formatter(SEPARATED)
        axes[0].set_ylabel("steps per second of CPU time")
        axes[0].yaxis.set_major_formatter(EngFormatter())
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return svg(figure, lines)


def _name(row: Row) -> str:
    if row["package"] != OURS:
        return str(row["package"])
    return f"{OURS}, {'one game' if row['kind'] == 'single' else row['kind']}"


def by_milliseconds(committed: Committed) -> bytes:
    """Draw mean scores against the milliseconds of a move, with what is searched as labels."""
    lines = {name: _searches(committed, env) for name, env in SLIDING.items()}
    lines["2048"] |= _published()
    with panels(list(lines), 4.9, 4.4) as (figure, axes):
        for axis, of_game in zip(axes, lines.values(), strict=True):
            for (label, points), marker in zip(of_game.items(), MARKERS, strict=False):
                style = "--" if label.endswith(ELSEWHERE) else "-"
                times, means, names = zip(*points, strict=True)
                axis.semilogx(times, means, style, label=label, marker=marker, markersize=5)
                for time, mean, name in zip(times, means, names, strict=True):
                    axis.annotate(
                        name, (time, mean), (5, -10), textcoords="offset points", fontsize=7
                    )
            axis.set(xlabel="milliseconds per move")
            axis.xaxis.set_major_formatter(SEPARATED)
            axis.yaxis.set_major_formatter(EngFormatter())
            axis.set_ylim(bottom=0)
            axis.legend(fontsize=8)
        axes[0].set_ylabel("mean score")
    return svg(figure, lines)


def _searches(committed: Committed, env: str) -> dict[str, list[Point]]:
    """Return the points of each network, without those that downgrade boards."""
    rows = [row for row in committed.rows("search", env) if not row["downgrade"]]
    lines = {}
    for network in group(rows, "label", "minutes"):
        points = [
            (1000 / float(row["moves_per_second"]), float(row["mean"]), search_name(row))
            for row in network
        ]
        lines[f"n-tuple network, {_training(network[0])}{mark(network)}"] = sorted(points)
    return lines


def _training(row: Row) -> str:
    """Return how a row's agent was trained: the label, and the minutes if they are the budget."""
    return f"{row['label']}, {minutes(row['minutes'])} min" if row["minutes"] else row["label"]


def _published() -> dict[str, list[Point]]:
    lines: dict[str, list[Point]] = {}
    for row in published("ntuple"):
        speed, depth = str(row.get("speed", "")).replace(",", ""), row.get("depth")
        if speed.isdecimal() and isinstance(depth, int) and "mean" in row:
            label = f"{row['source'].citation}, {ELSEWHERE}"
            point = 1000 / float(speed), float(row["mean"]), f"{depth}-ply"
            lines.setdefault(label, []).append(point)
    return {label: sorted(points) for label, points in lines.items() if len(points) > 1}
