"""The pictures of speed: of environments, and of moves that are searched."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import EngFormatter

from baselines.viewing.figures import MARKERS, svg
from benchmarks.experiments import GAME_2048
from benchmarks.figures.drawing import LEARNERS, SEPARATED, mark, panels, training
from benchmarks.results import Row
from benchmarks.rows import Committed, group, published
from benchmarks.speed.environments import GAMES
from benchmarks.speed.turns import OURS, STEPS_PER_SECOND

ELSEWHERE = "on another machine"

Point = tuple[float, float, int]
"""Milliseconds of a move, mean score, and search depth."""


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
    """Draw mean scores of 2048 against the milliseconds of a move, with search depths as labels."""
    lines = _searches(committed) | _published()
    with panels([""], 7.4, 4.2) as (figure, (axis,)):
        for (label, points), marker in zip(lines.items(), MARKERS, strict=False):
            style = "--" if label.endswith(ELSEWHERE) else "-"
            times, means, depths = zip(*points, strict=True)
            axis.semilogx(times, means, style, label=label, marker=marker, markersize=5)
            for time, mean, depth in zip(times, means, depths, strict=True):
                axis.annotate(
                    f"{depth}-ply", (time, mean), (5, -10), textcoords="offset points", fontsize=7
                )
        axis.set(xlabel="milliseconds per move", ylabel="mean score of 2048")
        axis.xaxis.set_major_formatter(SEPARATED)
        axis.yaxis.set_major_formatter(EngFormatter())
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=8)
    return svg(figure, lines)


def _searches(committed: Committed) -> dict[str, list[Point]]:
    """Return the points of each agent that has been evaluated with search and without."""
    lines = {}
    for table, name in LEARNERS.items():
        rows = [row for row in committed.rows(table, GAME_2048) if row["train_seed"] == "0"]
        for agent in group((row for row in rows if row["minutes"]), "label", "minutes"):
            if len(agent) > 1:
                points = [
                    (1000 / float(row["moves_per_second"]), float(row["mean"]), int(row["depth"]))
                    for row in agent
                ]
                lines[f"{name}, {training(agent[0])}{mark(agent)}"] = sorted(points)
    return lines


def _published() -> dict[str, list[Point]]:
    lines: dict[str, list[Point]] = {}
    for row in published("ntuple"):
        speed, depth = str(row.get("speed", "")).replace(",", ""), row.get("depth")
        if speed.isdecimal() and isinstance(depth, int) and "mean" in row:
            label = f"{row['source'].citation}, {ELSEWHERE}"
            lines.setdefault(label, []).append((1000 / float(speed), float(row["mean"]), depth))
    return {label: sorted(points) for label, points in lines.items() if len(points) > 1}
