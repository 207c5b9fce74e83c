"""Rows beside each other: means over training seeds, and whether agents can be told apart."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.evaluation.intervals import interval_of_t
from baselines.evaluation.rows import Row, cells_of, interval_text, options_of, table, write_rows
from tile_envs.words import counted, number, printable

NO_GAMES = np.zeros(0)
MEANS = ("mean", "share", "win", "draw", "loss")
"""The columns of results that are averaged over seeds."""
COLUMNS = ("mean", "low", "median", "max", "moves_per_second")
"""The columns of a table of sampled results."""
SHARED = ("env", "env_kwargs", "side", "episodes", "seed")
OVER_SEEDS = "Student's, over seeds"
"""The method of intervals over training seeds."""


class Result(NamedTuple):
    """A row of an agent, and what it comes from.

    Attributes:
        recipe: What its run shares with runs that differ in the seed alone; "" without a run.
        returns: `(episodes,) float64`, the result of each game; none of exact results.
        train_seed: The seed of its run.
    """

    row: Row
    recipe: str = ""
    returns: NDArray[np.float64] = NO_GAMES
    train_seed: int | None = None


def over_seeds(results: Sequence[Result]) -> list[Row]:
    """Return a row for each recipe with several runs: the means over their training seeds.

    `low` and `high` are Student's interval, over all seeds that might be drawn, of the first of
    these means.  What is of single games is None.
    """
    rows = []
    for runs in _by_recipe(results):
        if len(runs) > 1:
            first = runs[0].row
            columns = [name for name in MEANS if name in first]
            means = {name: np.array([run.row[name] for run in runs]) for name in columns}
            low, high = interval_of_t(means[columns[0]])
            if columns[0] != "mean" or first.get("side"):  # fractions and outcomes
                low, high = max(low, -1.0), min(high, 1.0)
            row = {name: first[name] if name in SHARED else None for name in first}
            row |= {name: float(values.mean()) for name, values in means.items()}
            row |= {"agent": _name(runs), "low": low, "high": high, "interval_method": OVER_SEEDS}
            rows.append(row)
    return rows


def _by_recipe(results: Sequence[Result]) -> list[list[Result]]:
    """Return results in lists that differ by the training seed alone; each without a run alone.

    A seed that comes again, as of a copied run, is in a list of its own: it is no further sample.
    """
    groups = defaultdict[Any, list[Result]](list)
    seen = Counter[Any]()
    for n, each in enumerate(results):
        kind = each.recipe or n, each.row.get("side")
        groups[kind, seen[kind, each.train_seed]].append(each)
        seen[kind, each.train_seed] += 1
    return list(groups.values())


def _name(runs: Sequence[Result]) -> str:
    """Return the name of an agent, and how many more seeds of it there are."""
    more = f" and {counted(len(runs) - 1, 'more seed')}" * bool(runs[1:])
    return f"{printable(runs[0].row['agent'])}{more}"


def write_results(results: Sequence[Result], out: Path | None) -> list[Row]:
    """Write rows and their means over seeds, if a file is given; return the means."""
    means = over_seeds(results)
    if results and out is not None:
        write_rows([result.row for result in results] + means, out)
    return means


def seeds_text(row: Row) -> str:
    """Return a row of `over_seeds` in one line."""
    first, *others = (f"{name} {number(row[name])}" for name in MEANS if row.get(name) is not None)
    text = f"{row['agent']} on {row['env']}: {first}, 95 % interval over seeds {interval_text(row)}"
    return ", ".join([text, *others, *options_of(row)])


def differences(results: Sequence[Result]) -> list[str]:
    """Return a line on each agent but the best: how far its mean is below, in the same games.

    Differences are paired, game by game, of means over training seeds, with Student's interval.
    Where it holds 0, the agents are not separable, and the line says in about how many games they
    would be.
    """
    agents = [(_name(e), np.mean([r.returns for r in e], axis=0)) for e in _by_recipe(results)]
    (best, highest), *others = sorted(agents, key=lambda agent: -agent[1].mean())
    lines = []
    for other, returns in others:
        n = min(len(highest), len(returns))
        paired = highest[:n] - returns[:n]
        if n < 2 or not np.ptp(paired):
            continue
        mean, (low, high) = float(paired.mean()), interval_of_t(paired)
        text = f"{best} − {other}: {number(mean)} ({number(low)} to {number(high)})"
        if low <= 0 <= high:
            games = math.ceil(n * ((high - low) / 2 / mean) ** 2) if mean else 0
            text += ", not separable"
            text += f": about {counted(games, 'game')} would be needed" * bool(games)
        lines.append(text)
    return lines


def comparison(results: Sequence[Result]) -> str:
    """Return rows of sampled evaluation as a table, game by game, the best mean first.

    Means over seeds and paired differences stand below each table.
    """
    text = []
    for env in dict.fromkeys(each.row["env"] for each in results):
        of_env = [each for each in results if each.row["env"] == env]
        rows = [each.row for each in of_env] + over_seeds(of_env)
        rows.sort(key=lambda row: -row["mean"])
        episodes, named = max(row["episodes"] for row in rows), []
        for row in rows:
            fewer = [f"{row['episodes']:,} games"] * (row["episodes"] < episodes)
            named.append((", ".join([printable(row["agent"]), *fewer, *options_of(row)]), row))
        text.append(f"{env}, {episodes:,} games, seed {rows[0]['seed']}")
        text += table(cells_of(named, COLUMNS))
        for kind in dict.fromkeys(str(each.row["env_kwargs"]) for each in of_env):
            alike = [each for each in of_env if str(each.row["env_kwargs"]) == kind]
            if told := differences(alike):
                heading = ["paired differences", *options_of(alike[0].row), "95 % intervals"]
                text += [", ".join(heading), *(f"  {line}" for line in told)]
    return "\n".join(text)
