"""The pictures of speed: of environments, and of moves that are searched."""

from itertools import cycle

import numpy as np
from matplotlib.ticker import EngFormatter

from baselines.viewing.curves import COLORS
from benchmarks.figures.drawing import (
    MARKERS,
    SEPARATED,
    SLIDING,
    mark,
    panels,
    styles,
    svg,
    training_name,
    trainings,
)
from benchmarks.results import Row
from benchmarks.rows import (
    DOWNGRADED,
    Committed,
    cores,
    group,
    learned,
    minutes,
    published,
    search_name,
)
from benchmarks.speed.environments import GAMES
from benchmarks.speed.turns import OURS, STEPS_PER_SECOND

ELSEWHERE = "another machine"

Point = tuple[float, float, str]
"""Milliseconds of a move on one core, mean score, and what is searched."""


def by_size(committed: Committed) -> bytes:
    """Draw steps per second against the number of games at once, a panel for each game."""
    best: dict[str, dict[str, dict[int, float]]] = {game: {} for game in GAMES}
    for row in committed.rows("speed"):
        if row["measure"] == STEPS_PER_SECOND and row["game"] in GAMES:
            speeds, n = best[row["game"]].setdefault(_name(row), {}), int(row["num_envs"])
            speeds[n] = max(float(row["value"]), speeds.get(n, 0))
    lines = {game: {name: [*best[game][name].items()] for name in best[game]} for game in GAMES}
    names = {name for of_game in lines.values() for name in of_game}
    ordered = sorted(names, key=lambda name: (OURS not in name, name))
    style = styles(dict(zip(ordered, cycle(COLORS), strict=False)))
    with panels(list(lines), 3.3, 4.4, len(lines), sharey=True) as (figure, axes):
        for axis, of_game in zip(axes, lines.values(), strict=True):
            for name in style:
                points = zip(*of_game.get(name, [(np.nan, np.nan)]), strict=True)
                axis.loglog(*points, markersize=4, **style[name])
            axis.set(xlabel="games at once")
            axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes[0].set_ylabel("steps per second of CPU time")
        axes[0].yaxis.set_major_formatter(EngFormatter())
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return svg(figure, lines)


def _name(row: Row) -> str:
    if row["package"] != OURS:
        return str(row["package"])
    return f"{OURS}, {'one game' if row['kind'] == 'single' else row['kind']}"


def by_milliseconds(committed: Committed) -> bytes:
    """Draw mean scores against the milliseconds of a move, with what is searched as labels."""
    lines = {name: _searches(committed, env) for name, env in SLIDING.items()}
    lines["2048"] |= (others := _published())
    looks = trainings(committed, map(_training, others))
    with panels(list(lines), 4.9, 5.2) as (figure, axes):
        for axis, of_game in zip(axes, lines.values(), strict=True):
            for n, (label, points) in enumerate(of_game.items()):
                times, means, _ = zip(*points, strict=True)
                style = looks[_training(label)] | {"label": label, "marker": MARKERS[n]}
                axis.semilogx(times, means, markersize=5, **style)
                above = {"xytext": (-5, 5), "ha": "right"}
                beside = {"xytext": (5, 4 if DOWNGRADED in label else -10)}
                place = above if label.endswith(ELSEWHERE) else beside
                for time, mean, name in points:
                    axis.annotate(
                        name, (time, mean), textcoords="offset points", fontsize=7, **place
                    )
            axis.set(xlabel="milliseconds per move of one core")
            axis.margins(x=0.12, y=0.08)
            axis.xaxis.set_major_formatter(SEPARATED)
            axis.yaxis.set_major_formatter(EngFormatter())
            axis.set_ylim(bottom=0)
            axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14))
        axes[0].set_ylabel("mean score")
    return svg(figure, lines)


def _training(label: str) -> str:
    """Return the name of a training in a label, without its minutes or the machine."""
    return label.rpartition(", ")[0]


def _searches(committed: Committed, env: str) -> dict[str, list[Point]]:
    """Return the points of each network, those that downgrade boards apart."""
    lines = {}
    for network in group(learned(committed, "search", env=env), "label", "minutes", "downgrade"):
        points = [
            (
                1000 * cores(row) / float(row["moves_per_second"]),
                float(row["mean"]),
                search_name(row | {"downgrade": ""}),
            )
            for row in network
        ]
        most, tile = max(map(cores, network)), network[0]["downgrade"]
        how = f"; played on {most} cores" * (most > 1) + f"; {DOWNGRADED} {tile}" * bool(tile)
        label = f"{training_name(network[0])}, {minutes(network[0]['minutes'])} min{how}"
        lines[label + mark(network)] = sorted(points)
    return lines


def _published() -> dict[str, list[Point]]:
    lines: dict[str, list[Point]] = {}
    for row in published("ntuple"):
        speed, depth = str(row.get("speed", "")).replace(",", ""), row.get("depth")
        if speed.isdecimal() and isinstance(depth, int) and "mean" in row:
            label = f"{row['source'].citation}, {ELSEWHERE}"
            point = 1000 / float(speed), float(row["mean"]), f"{depth}-ply"
            lines.setdefault(label, []).append(point)
    return {label: sorted(points) for label, points in lines.items() if len(points) > 1}
