"""The pictures of strength: against minutes of learning, tiles reached, and time of a move."""

import json
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from benchmarks.experiments import GAME_2048, GAME_2584
from benchmarks.figures.drawing import LOOKS, PUBLISHED, picture, player, write_numbers
from benchmarks.published import best_published, published
from benchmarks.results import Row
from benchmarks.rows import (
    FEWEST,
    MARK,
    Committed,
    bounds,
    group,
    looks_ahead,
    mark,
    mean_of,
    reached,
    search_name,
    seeds,
    trained,
)
from benchmarks.training import POINTS

SLIDING = {"2048": GAME_2048, "2584": GAME_2584}
LEARNERS = ("deep", "ntuple", "search")
TILES = 8  # the number of tiles shown, of those that anyone reaches in a hundredth of the games
AT_ONE_PLY = {"2048": "ntuple", "2584": "fibonacci"}  # lists of published results

Line = list[tuple[float, ...]]


def learning(committed: Committed, games: Sequence[str] = tuple(SLIDING)) -> bytes:
    """Draw mean scores without search against minutes of learning.

    Of each kind of player it is the training that ends highest; lines are training games, with a
    band over the seeds, points are test games.
    """
    lines: dict[str, dict[str, tuple[Line, Line]]] = {}
    for game in games:
        rows = [row for row in committed.rows(*LEARNERS, env=SLIDING[game]) if row["minutes"]]
        alone = [row for row in rows if not looks_ahead(row) and not row["downgrade"]]
        best: dict[str, list[Row]] = {}
        for runs in group(alone, "label"):
            name = player(runs[0])
            best[name] = max(best.get(name, runs), runs, key=_final)
        lines[game] = {f"{n}, {_about(r)}": (_band(r), _results(r)) for n, r in best.items()}
    levels = {game: best_published(AT_ONE_PLY[game], 1) for game in games}

    def draw(axis: Axes, game: str, of_game: dict[str, tuple[Line, Line]]) -> None:
        for label, (band, results) in of_game.items():
            look = LOOKS[label.partition(",")[0]]
            places, means, lows, highs = zip(*band, strict=True)
            axis.loglog(places, means, label=label, **look)
            axis.fill_between(places, lows, highs, alpha=0.2, facecolor=look["color"])
            axis.loglog(*zip(*results, strict=True), "o", markersize=4, color=look["color"])
        if level := levels[game]:
            axis.axhline(level["mean"], **LOOKS[PUBLISHED])
            about = f"{level['source'].citation}: best published, 1-ply"
            how: Any = {"textcoords": "offset points", "fontsize": 8}
            place, color = (axis.get_xlim()[0], level["mean"]), LOOKS[PUBLISHED]["color"]
            axis.annotate(about, place, (2, 3), color=color, **how)
        write_numbers(axis.yaxis)
        axis.xaxis.set_major_formatter("{x:,g}")
        axis.set(xlabel="minutes of learning", ylabel="mean score, 1-ply")
        axis.set_ylim(top=1.6 * axis.get_ylim()[1])

    means = {game: level and level["mean"] for game, level in levels.items()}
    return picture(lines, 5.4 if games[1:] else 7.0, 3.9, draw, means)


def _final(runs: Sequence[Row]) -> float:
    """Return the mean score after the longest of several budgets."""
    last = max(float(row["minutes"]) for row in runs)
    return mean_of([row for row in runs if float(row["minutes"]) == last])


def _about(runs: Sequence[Row]) -> str:
    n, last = seeds(runs), max(float(row["minutes"]) for row in runs)
    return f"{last:g} min, {n} seed{'s' * (n != '1')}{mark(runs)}"


def _band(runs: Sequence[Row]) -> Line:
    """Return the minutes and the mean, lowest and highest score of training games over seeds."""
    curves = [np.array(_curve(of_seed)) for of_seed in group(runs, "train_seed")]
    begin, end = max(curve[0, 0] for curve in curves), min(curve[-1, 0] for curve in curves)
    places = np.linspace(begin, end, POINTS)
    scores = [np.interp(places, curve[:, 0], curve[:, -1]) for curve in curves]
    parts = places, np.mean(scores, axis=0), np.min(scores, axis=0), np.max(scores, axis=0)
    return list(zip(*map(np.ndarray.tolist, parts), strict=True))


def _curve(rows: Sequence[Row]) -> Line:
    """Return the curve of a seed; that of its results where it has none."""
    rows = sorted(rows, key=lambda row: float(row["minutes"]))
    curve: Line = json.loads(rows[-1].get("curve") or "[]")
    return curve or _results(rows)


def _results(rows: Sequence[Row]) -> Line:
    return [(float(row["minutes"]), float(row["mean"])) for row in rows]


def reach(committed: Committed) -> bytes:
    """Draw the fraction of games that reach at least a tile, with 95 % intervals as bands.

    Of each kind of player it is the best row, alone and with search.
    """
    lines: dict[str, dict[str, Line]] = {}
    for game, env in SLIDING.items():
        rows = committed.rows("agents", *LEARNERS, env=env)
        rows = [row for row in rows if row["reach"] and int(row["episodes"]) >= FEWEST]
        rows.sort(key=lambda row: float(row["mean"]))
        best = {(player(row), looks_ahead(row)): row for row in rows}
        ordered = sorted(best.items(), key=lambda item: float(item[1]["mean"]))
        shares = {
            name + f", {search_name(row)}" * ahead + mark([row]): _shares(row)
            for (name, ahead), row in ordered
        }
        points = [point for line in shares.values() for point in line]
        tiles = sorted({tile for tile, share, *_ in points if share >= 0.01})[-TILES:]
        shown = {n: [point for point in line if point[0] in tiles] for n, line in shares.items()}
        lines[game] = {label: line for label, line in shown.items() if line}

    def draw(axis: Axes, game: str, of_game: dict[str, Line]) -> None:
        for label, line in of_game.items():
            look = dict(LOOKS[label.removesuffix(MARK).partition(",")[0]])
            look |= {"linestyle": "--"} if "," in label else {}
            places, shares, lows, highs = zip(*line, strict=True)
            axis.semilogx(places, shares, label=label, marker=".", **look)
            axis.fill_between(places, lows, highs, alpha=0.15, facecolor=look["color"])
        ticks = sorted({point[0] for line in of_game.values() for point in line})
        axis.set_xticks(ticks, [f"{tile:,.0f}" for tile in ticks], fontsize=8, rotation=30)
        axis.minorticks_off()
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set(title=f"{game}: games that reach at least a tile", xlabel="tile")

    return picture(lines, 5.8, 4.2, draw)


def _shares(row: Row) -> Line:
    """Return tiles with the fractions of games that reach them, and their intervals."""
    bounds = json.loads(row["fraction_intervals"])
    return [(tile, share, *bounds[str(tile)]) for tile, share in reached(row).items()]


def by_milliseconds(committed: Committed) -> bytes:
    """Draw mean scores with 95 % intervals against the time of a move on one core.

    Labels are what is searched; a limit of time is more than what a move takes of it.
    """
    lines = {game: _searches(committed, env) for game, env in SLIDING.items()}
    lines["2048"] |= _published()
    lines = {game: {n: line for n, line in of.items() if line[1:]} for game, of in lines.items()}

    def draw(axis: Axes, game: str, of_game: dict[str, list[Any]]) -> None:
        for n, (label, points) in enumerate(of_game.items()):
            theirs = PUBLISHED in label
            look: Any = dict(LOOKS[PUBLISHED if theirs else "n-tuple network"])
            look |= {"marker": "os^D"[n % 4], "markersize": 4}
            times, means, lows, highs, names = zip(*points, strict=True)
            errors = np.subtract(means, lows), np.subtract(highs, means)
            axis.errorbar(times, means, np.maximum(errors, 0), capsize=2, label=label, **look)
            how: Any = {"textcoords": "offset points", "fontsize": 7, "color": look["color"]}
            how |= {"xytext": (-4, 5), "ha": "right"} if theirs else {"xytext": (4, -9)}
            for time, mean, name in zip(times, means, names, strict=True):
                axis.annotate(name, (time, mean), **how)
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:,g}")
        write_numbers(axis.yaxis)
        axis.set(xlabel="milliseconds of one core for a move", ylabel="mean score")
        axis.set_ylim(bottom=0)

    return picture(lines, 5.4, 4.6, draw)


def _searches(committed: Committed, env: str) -> dict[str, list[Any]]:
    """Return the points of networks that learned for minutes, those that downgrade boards apart."""
    lines = {}
    learned = [row for row in committed.rows("ntuple", "search", env=env) if row["minutes"]]
    for rows in group(learned, "label", "minutes", "downgrade"):
        points = []
        for runs in group(rows, "depth", "milliseconds"):
            time = fmean(1000 * int(row["cores"]) / float(row["moves_per_second"]) for row in runs)
            name = search_name(runs[0] | {"downgrade": ""})
            points.append((time, mean_of(runs), *bounds(runs), name))
        tile = rows[0]["downgrade"]
        label = trained(rows) + f", downgraded from {tile}" * bool(tile)
        lines[label + mark(rows)] = sorted(points)
    return lines


def _published() -> dict[str, list[Any]]:
    lines: dict[str, list[Any]] = {}
    for row in published("ntuple"):
        speed, depth = str(row.get("speed", "")).replace(",", ""), row.get("depth")
        time = row.get("ms") or (1000 / float(speed) if speed.isdecimal() else None)
        if time and isinstance(depth, int) and "mean" in row:
            memory = f", {row['memory']}" if "memory" in row else ""
            label = f"{row['source'].citation}{memory}, {PUBLISHED}"
            point = time, *[float(row["mean"])] * 3, f"{depth}-ply"
            lines.setdefault(label, []).append(point)
    return {label: sorted(points) for label, points in lines.items()}
