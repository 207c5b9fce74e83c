"""The pictures of strength: against the minutes of learning, tiles reached, distributions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import EngFormatter, Formatter, LogLocator, NullFormatter, PercentFormatter

from baselines.evaluation.sampled import QUANTILES
from baselines.viewing.figures import MARKERS, svg
from benchmarks.figures.drawing import LEARNERS, SEPARATED, SLIDING, mark, panels
from benchmarks.results import Row
from benchmarks.rows import MARK, Committed, group, published, reached, search_name
from benchmarks.training import POINTS
from tile_envs.words import counted

MINUTES, MOVES, SCORE = range(3)
"""What a point of a curve holds."""
KINDS = (
    *("random", "greedy", "deep network, 1-ply", "deep network, 2-ply", "strong"),
    *(f"n-tuple network, {depth}-ply" for depth in (1, 2, 3)),
)
"""The players that are shown, each in a color of its own, the same in all pictures."""
TILES = 8
"""How many of the largest tiles are shown that anyone reaches in a hundredth of the games."""
BELOW: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22)}
"""Where the legend of a panel is, if it would cover lines in it."""


def _write_numbers(axis: Axis, numbers: str | Formatter, subs: Sequence[float] = (1, 2, 5)) -> None:
    """Let a logarithmic axis have ticks at these multiples of 1, 10, 100 …, with numbers at all."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(numbers)
    axis.set_minor_formatter(NullFormatter())


def learning(committed: Committed) -> bytes:
    """Draw mean scores without search against minutes of learning, and in 2048 against moves.

    Lines are the games of the training, with a band over its seeds; markers are the results.
    """
    lines = {name: _learning(committed, env, MINUTES) for name, env in SLIDING.items()}
    lines["2048, by moves"] = _learning(committed, SLIDING["2048"], MOVES)
    others = {f"{row['learning']} ({row['source'].citation})": row for row in published("curves")}
    for label, row in others.items():
        line = [(moves, mean, mean, mean) for moves, mean in row["points"]]
        lines["2048, by moves"][label] = line, line
    with panels(list(lines), 4.9, 6.2) as (figure, axes):
        for axis, of_game in zip(axes, lines.values(), strict=True):
            for (label, (line, results)), marker in zip(of_game.items(), MARKERS, strict=False):
                places, means, lows, highs = zip(*line, strict=True)
                style = "--" if label in others else "-"
                (drawn,) = axis.loglog(places, means, style, label=label)
                if lows != highs:  # of one seed, a band would be an empty shape in the file
                    axis.fill_between(places, lows, highs, alpha=0.2, facecolor=drawn.get_color())
                for place, mean, *_ in results:
                    axis.plot(place, mean, marker, color=drawn.get_color(), markersize=4)
            axis.set(xlabel="minutes of learning")
            _write_numbers(axis.xaxis, SEPARATED)
            _write_numbers(axis.yaxis, EngFormatter())
            axis.legend(fontsize=8, **BELOW)
        axes[0].set_ylabel("mean score, 1-ply")
        axes[-1].set(xlabel="moves")
        _write_numbers(axes[-1].xaxis, EngFormatter(), subs=(1,))
    return svg(figure, lines)


def _learning(
    committed: Committed, env: str, column: int
) -> dict[str, tuple[list[tuple[float, ...]], list[tuple[float, ...]]]]:
    """Return the line of each training, of its mean, lowest and highest scores; and its results."""
    lines = {}
    for table in LEARNERS:
        prefix = "" if table == "deep" else "n-tuple, "
        rows = [row for row in committed.rows(table, env) if row["depth"] == "1" and row["minutes"]]
        for runs in group(rows, "label"):
            curves = [np.array(_curve(of_seed)) for of_seed in group(runs, "train_seed")]
            if any(len(curve) < 2 or not curve[-1, column] for curve in curves):
                continue
            begin = max(curve[0, column] for curve in curves)
            places = np.linspace(begin, min(curve[-1, column] for curve in curves), POINTS)
            scores = [np.interp(places, curve[:, column], curve[:, SCORE]) for curve in curves]
            parts = places, np.mean(scores, axis=0), np.min(scores, axis=0), np.max(scores, axis=0)
            results = [(float(row["minutes"]), float(row["mean"])) for row in runs]
            label = f"{prefix}{runs[0]['label']} ({counted(len(curves), 'seed')}){mark(runs)}"
            lines[label] = np.transpose(parts).tolist(), results if column == MINUTES else []
    return lines


def _curve(rows: Sequence[Row]) -> list[list[float]]:
    """Return the curve of a seed; that of its results where it has none."""
    rows = sorted(rows, key=lambda row: float(row["minutes"]))
    if rows[-1].get("curve"):
        curve: list[list[float]] = json.loads(rows[-1]["curve"])
        return curve
    return [[float(row["minutes"]), 0.0, float(row["mean"])] for row in rows]


def _best(committed: Committed, env: str, column: str) -> dict[str, Row]:
    """Return the best row with a column of each of `KINDS`, the lowest mean first."""
    best: dict[str, Row] = {}
    for table in ("agents", *LEARNERS):
        for row in committed.rows(table, env):
            learns = table in LEARNERS
            label = f"{LEARNERS[table]}, {search_name(row)}" if learns else row["agent"]
            is_better = label not in best or float(row["mean"]) > float(best[label]["mean"])
            if label in KINDS and row.get(column) and is_better:
                best[label] = row
    ordered = sorted(best.items(), key=lambda item: float(item[1]["mean"]))
    return {label + mark([row]): row for label, row in ordered}


def _color(label: str) -> str:
    return f"C{KINDS.index(label.removesuffix(MARK))}"


def by_tile(committed: Committed) -> bytes:
    """Draw the fraction of games in which players reach each of the largest tiles."""
    shares = {name: _tiles(committed, env) for name, env in SLIDING.items()}
    with panels(list(shares), 9.8, 3.2, stacked=True) as (figure, axes):
        for axis, of_game in zip(axes, shares.values(), strict=True):
            tiles = sorted({tile for bars in of_game.values() for tile in bars})
            places, width = np.arange(len(tiles)), 0.85 / max(1, len(of_game))
            for number, (label, bars) in enumerate(of_game.items()):
                offset = (number - (len(of_game) - 1) / 2) * width
                heights = [bars.get(tile, 0.0) for tile in tiles]
                axis.bar(places + offset, heights, width, label=label, color=_color(label))
            labels = [f"{tile:,}" for tile in tiles]
            axis.set(xlabel="tile", xticks=places, xticklabels=labels)
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
            axis.grid(axis="x", visible=False)
            axis.legend(fontsize=8, ncols=1, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.supylabel("games that reach the tile", fontsize=10)
    return svg(figure, shares)


def _tiles(committed: Committed, env: str) -> dict[str, dict[int, float]]:
    """Return what the best player of each kind reaches."""
    bars = {label: reached(row) for label, row in _best(committed, env, "mean").items()}
    tiles = sorted({tile for of in bars.values() for tile, share in of.items() if share >= 0.01})
    return {
        label: {tile: share for tile, share in of.items() if tile in tiles[-TILES:]}
        for label, of in bars.items()
    }


def distributions(committed: Committed) -> bytes:
    """Draw the fraction of games that reach a score, against the score."""
    lines = {name: _scores(committed, env) for name, env in SLIDING.items()}
    with panels(list(lines), 4.9, 4.0, sharey=True) as (figure, axes):
        for axis, of_game in zip(axes, lines.values(), strict=True):
            for label, scores in of_game.items():
                points = [max(1.0, score) for score in scores], [1 - share for share in QUANTILES]
                axis.semilogx(*points, label=label, color=_color(label))
            axis.set(xlabel="score")
            _write_numbers(axis.xaxis, EngFormatter(), subs=(1,))
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
            axis.legend(fontsize=8, **BELOW)
        axes[0].set_ylabel("games with at least this score")
    return svg(figure, lines)


def _scores(committed: Committed, env: str) -> dict[str, list[float]]:
    """Return the scores at `QUANTILES` of the best player of each kind."""
    rows = _best(committed, env, "quantiles")
    return {label: json.loads(row["quantiles"]) for label, row in rows.items()}
