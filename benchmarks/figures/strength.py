"""The pictures of strength: against the minutes of learning, tiles reached, distributions."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, Formatter, LogLocator, NullLocator, PercentFormatter

from baselines.evaluation.sampled import QUANTILES
from benchmarks.figures.drawing import (
    LEARNERS,
    PLAYERS,
    SEPARATED,
    SLIDING,
    mark,
    panels,
    svg,
    training_name,
    trainings,
)
from benchmarks.results import Row
from benchmarks.rows import (
    FEWEST,
    Committed,
    group,
    kind,
    learned,
    looks_ahead,
    published,
    reached,
    search_name,
    seeds,
)
from benchmarks.training import POINTS

MINUTES, MOVES, SCORE = range(3)
"""What a point of a curve holds."""
TILES = 8
"""How many of the largest tiles are shown that anyone reaches in a hundredth of the games."""

Points = list[tuple[float, ...]]
Players = dict[str, tuple[Row, str, bool]]
"""By label: a row, the player's color, and whether it looks further ahead than one move."""


def _write_numbers(axis: Axis, numbers: str | Formatter, subs: Sequence[float] = (1, 2, 5)) -> None:
    """Let a logarithmic axis have ticks at these multiples of 1, 10, 100 …, with numbers at all."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(numbers)
    axis.set_minor_locator(NullLocator())


def learning(committed: Committed) -> bytes:
    """Draw mean scores without search against minutes of learning, and in 2048 against moves.

    Lines are the games of the training, with a band over its seeds; markers are the results.
    """
    lines = {
        "2048": _learning(committed, SLIDING["2048"], MINUTES),
        "2048, by moves": _learning(committed, SLIDING["2048"], MOVES),
        "2584": _learning(committed, SLIDING["2584"], MINUTES),
    }
    others = {f"{row['learning']} ({row['source'].citation})": row for row in published("curves")}
    for label, row in others.items():
        line = [(moves, mean, mean, mean) for moves, mean in row["points"]]
        lines["2048, by moves"][label] = line, row["points"]
    looks = trainings(committed, map(_training, others))
    legends = {"2048": lines["2048"] | lines["2048, by moves"], "2584": lines["2584"]}
    with panels([*lines, ""], 4.9, 4.7) as (figure, axes):
        for axis, of_panel in zip(axes, lines.values(), strict=False):  # the last: legends
            for label, (line, results) in of_panel.items():
                style = looks[_training(label)] | {"label": label}
                places, means, lows, highs = zip(*line, strict=True)
                axis.loglog(places, means, **style | {"marker": None})
                if lows != highs:  # of one seed, a band would be an empty shape in the file
                    axis.fill_between(places, lows, highs, alpha=0.2, facecolor=style["color"])
                if results:
                    lone = style | {"linestyle": "", "label": "", "markersize": 4}
                    axis.loglog(*zip(*results, strict=True), **lone)
            _write_numbers(axis.xaxis, SEPARATED)
            _write_numbers(axis.yaxis, EngFormatter())
            axis.set(xlabel="minutes of learning", ylabel="mean score, 1-ply")
        axes[1].set(xlabel="moves", ylabel="")
        _write_numbers(axes[1].xaxis, EngFormatter(), subs=(1,))
        axes[-1].axis("off")
        for name, loc in zip(legends, ("upper left", "lower left"), strict=True):
            labels = list(map(_training, legends[name]))
            handles = [Line2D([], [], markersize=4, **looks[label]) for label in labels]
            how: Any = {"title": name, "loc": loc, "fontsize": 8, "labelspacing": 0.15}
            how |= {"alignment": "left", "handlelength": 3}
            axes[-1].add_artist(Legend(axes[-1], handles, [*legends[name]], **how))
    return svg(figure, lines)


def _training(label: str) -> str:
    """Return the name of a training, which games share, without its seeds."""
    return label.rpartition(" (")[0]


def _learning(committed: Committed, env: str, column: int) -> dict[str, tuple[Points, Points]]:
    """Return the line of each training, of its mean, lowest and highest scores; and its results.

    The moves of some results are unknown.
    """
    lines = {}
    rows = [row for row in learned(committed, *LEARNERS, env=env) if row["minutes"]]
    rows.sort(key=lambda row: [*PLAYERS].index(kind(row)))
    alone = (row for row in rows if row["depth"] == "1" and not row.get("downgrade"))
    for runs in group(alone, "agent", "label"):
        curves = [np.array(_curve(of_seed)) for of_seed in group(runs, "train_seed")]
        if not all(curve[-1, column] for curve in curves):
            continue
        begin = max(curve[0, column] for curve in curves)
        places = np.linspace(begin, min(curve[-1, column] for curve in curves), POINTS)
        scores = [np.interp(places, curve[:, column], curve[:, SCORE]) for curve in curves]
        parts = places, np.mean(scores, axis=0), np.min(scores, axis=0), np.max(scores, axis=0)
        results = [_result(row) for row in runs]
        n = seeds(runs)
        label = f"{training_name(runs[0])} ({n} seed{'s' * (n != '1')}){mark(runs)}"
        places_of = [(point[column], point[SCORE]) for point in results if point[column]]
        lines[label] = np.transpose(parts).tolist(), places_of
    return lines


def _result(row: Row) -> tuple[float, ...]:
    return float(row["minutes"]), float(row.get("moves_learned") or 0), float(row["mean"])


def _curve(rows: Sequence[Row]) -> list[tuple[float, ...]]:
    """Return the curve of a seed; that of its results where it has none."""
    rows = sorted(rows, key=lambda row: float(row["minutes"]))
    if rows[-1].get("curve"):
        curve: list[tuple[float, ...]] = json.loads(rows[-1]["curve"])
        return curve
    return [_result(row) for row in rows]


def _best(committed: Committed, env: str, column: str) -> Players:
    """Return the best rows with a column of each of `PLAYERS`, the lowest mean first."""
    rows = [(row["agent"], row) for row in committed.rows("agents", env)]
    rows += [(kind(row), row) for row in learned(committed, *LEARNERS, env=env)]
    best: dict[tuple[str, bool], Row] = {}
    for name, row in rows:
        place = name, looks_ahead(row)
        is_shown = name in PLAYERS and row.get(column) and int(row["episodes"]) >= FEWEST
        is_better = place not in best or float(row["mean"]) > float(best[place]["mean"])
        if is_shown and is_better:
            best[place] = row
    ordered = sorted(best.items(), key=lambda item: float(item[1]["mean"]))
    return {
        ", ".join(filter(None, (name, search_name(row)))) + mark([row]): (row, PLAYERS[name], ahead)
        for (name, ahead), row in ordered
    }


def by_tile(committed: Committed) -> bytes:
    """Draw the fraction of games in which players reach each of the largest tiles."""
    best = {name: _best(committed, env, "mean") for name, env in SLIDING.items()}
    shares = {name: _tiles(players) for name, players in best.items()}
    with panels(list(shares), 9.8, 3.2, 1) as (figure, axes):
        for axis, (name, of_game) in zip(axes, shares.items(), strict=True):
            tiles = sorted({tile for bars in of_game.values() for tile in bars})
            places, width = np.arange(len(tiles)), 0.85 / max(1, len(of_game))
            for number, (label, bars) in enumerate(of_game.items()):
                offset = (number - (len(of_game) - 1) / 2) * width
                heights = [bars.get(tile, 0.0) for tile in tiles]
                _, color, ahead = best[name][label]
                look: Any = {"hatch": "/////", "edgecolor": "white"} if ahead else {}
                look |= {"label": label, "color": color, "linewidth": 0}
                axis.bar(places + offset, heights, width, **look)
            labels = [f"{tile:,}" for tile in tiles]
            axis.set(xlabel="tile", xticks=places, xticklabels=labels)
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
            axis.grid(axis="x", visible=False)
            axis.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.supylabel("games that reach the tile", fontsize=10)
    return svg(figure, shares)


def _tiles(players: Players) -> dict[str, dict[int, float]]:
    """Return what players reach."""
    bars = {label: reached(row) for label, (row, _, _) in players.items()}
    tiles = sorted({tile for of in bars.values() for tile, share in of.items() if share >= 0.01})
    return {
        label: {tile: share for tile, share in of.items() if tile in tiles[-TILES:]}
        for label, of in bars.items()
    }


def distributions(committed: Committed) -> bytes:
    """Draw the fraction of games that reach a score, against the score."""
    best = {name: _best(committed, env, "quantiles") for name, env in SLIDING.items()}
    lines = {
        name: {label: json.loads(row["quantiles"]) for label, (row, _, _) in players.items()}
        for name, players in best.items()
    }
    with panels(list(lines), 4.9, 4.6, sharey=True) as (figure, axes):
        for axis, (name, of_game) in zip(axes, lines.items(), strict=True):
            for label, scores in of_game.items():
                _, color, ahead = best[name][label]
                # Without the lowest and the highest score: nothing is known of what is between.
                points = scores[1:-1], [1 - share for share in QUANTILES[1:-1]]
                axis.semilogx(*points, "--" if ahead else "-", label=label, color=color)
            axis.set(xlabel="score", ylim=(0, 1))
            _write_numbers(axis.xaxis, EngFormatter(), subs=(1,))
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
            axis.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.16))
        axes[0].set_ylabel("games with at least this score")
    return svg(figure, lines)
