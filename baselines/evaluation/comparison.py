"""Rows beside each other: means over training seeds, and whether agents can be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.evaluation.intervals import interval_of_t
from baselines.evaluation.rows import Row, interval_text, options_of
from tile_envs.words import counted, number, printable

NO_GAMES = np.zeros(0)
MEANS = ("mean", "share", "win", "draw", "loss")
"""The columns of results that are averaged over seeds."""
OF_GAMES = ("episodes", "seed")
OVER_SEEDS = "Student's, over seeds"
"""The method of intervals over training seeds."""


class Judged(NamedTuple):
    """An agent's row, and what it is of.

    Attributes:
        row: The row.
        recipe: What the agent's run shares with runs that differ in the seed alone, a key and a
            name; "" if it has no run.
        returns: `(episodes,) float64`, the result of each game, fewer if it was interrupted; none
            of exact results.
    """

    row: Row
    recipe: str
    returns: NDArray[np.float64] = NO_GAMES


def over_seeds(judged: Sequence[Judged]) -> list[Row]:
    """Return a row for each recipe with several runs: the means over their training seeds.

    `low` and `high` bound the first of these means over all seeds that might be drawn, by Student's
    interval of the runs' results; they are wide for few seeds.  What is of single games is None.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row, recipe, _ in judged:
        if recipe:
            groups.setdefault((recipe, str(row["env_kwargs"])), []).append(row)
    rows = []
    for (recipe, _), group in groups.items():
        if len(group) > 1:
            kept = {name: group[0].get(name) for name in ("env", "env_kwargs", "side", *OF_GAMES)}
            means = {name: _values(group, name) for name in MEANS if name in group[0]}
            low, high = interval_of_t(next(iter(means.values())))
            if "mean" not in means or kept["side"]:  # fractions and outcomes
                low, high = max(low, -1.0), min(high, 1.0)
            row = dict.fromkeys(group[0]) | kept
            row |= {name: float(values.mean()) for name, values in means.items()}
            row |= {"agent": f"{recipe.partition(' ')[2]}, {len(group)} training seeds"}
            rows.append(row | {"low": low, "high": high, "interval_method": OVER_SEEDS})
    return rows


def seeds_text(row: Row) -> str:
    """Return a row of `over_seeds` in one line."""
    first, *others = (f"{name} {number(row[name])}" for name in MEANS if row.get(name) is not None)
    text = f"{_name(row)} on {row['env']}: {first}, 95 % interval over seeds {interval_text(row)}"
    return ", ".join([text, *others, *options_of(row)])


def _values(rows: Sequence[Row], column: str) -> NDArray[np.float64]:
    return np.array([row[column] for row in rows], np.float64)


def differences(judged: Sequence[Judged]) -> list[str]:
    """Return a line on each agent but the best: how far its mean is below, in the same games.

    Differences are paired, game by game, with Student's interval.  Where it holds 0, the agents are
    not separable, and the line says in about how many games they would be.
    """
    best, *others = sorted(judged, key=lambda each: -each.row["mean"])
    lines = []
    for other in others:
        n = min(len(best.returns), len(other.returns))
        paired = best.returns[:n] - other.returns[:n]
        if n < 2 or not np.ptp(paired):
            continue
        mean, (low, high) = float(paired.mean()), interval_of_t(paired)
        text = f"{_name(best.row)} − {_name(other.row)}: {number(mean)}"
        text += f" ({number(low)} to {number(high)})"
        if low <= 0 <= high:
            games = math.ceil(n * ((high - low) / 2 / mean) ** 2) if mean else 0
            text += ", not separable"
            text += f": about {counted(games, 'game')} would be needed" if games else ""
        lines.append(text)
    return lines


def comparison(judged: Sequence[Judged]) -> str:
    """Return rows of sampled evaluation as a table, game by game, the best mean first.

    Means over seeds and paired differences stand below each table.
    """
    lines = []
    for env in dict.fromkeys(each.row["env"] for each in judged):
        of_env = [each for each in judged if each.row["env"] == env]
        rows = [each.row for each in of_env] + over_seeds(of_env)
        episodes, seed = max(row["episodes"] for row in rows), rows[0]["seed"]
        width = max(len(_played(row, episodes)) for row in rows)
        lines.append(f"{env}, {episodes:,} games, seed {seed}")
        line = f"  {{:<{width}}}{{:>11}}{{:>22}}{{:>11}}{{:>11}}{{:>12}}"
        lines.append(line.format("", "mean", "95 % interval", "median", "max", "moves / s"))
        for row in sorted(rows, key=lambda row: -row["mean"]):
            cells = ("" if row[n] is None else number(row[n]) for n in ("mean", "median", "max"))
            mean, median, best = cells
            speed = "" if row["moves_per_second"] is None else f"{row['moves_per_second']:,}"
            name = _played(row, episodes)
            lines.append(line.format(name, mean, interval_text(row), median, best, speed))
        kinds = dict.fromkeys(str(each.row["env_kwargs"]) for each in of_env)
        alike = [[e for e in of_env if str(e.row["env_kwargs"]) == kind] for kind in kinds]
        told = [f"  {line}" for group in alike for line in differences(group)]
        lines += ["paired differences, 95 % intervals", *told] if told else []
    return "\n".join(lines)


def _name(row: Row) -> str:
    name: str = printable(row["agent"])
    return name


def _played(row: Row, episodes: int) -> str:
    fewer = [f"{row['episodes']:,} games"] * (row["episodes"] < episodes)
    return ", ".join([_name(row), *fewer, *options_of(row)])
