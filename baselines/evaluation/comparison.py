"""Results beside each other: means over training seeds, and differences between settings.

Agents that differ in their training seed alone are of one setting.  Which setting is better is a
question to several seeds of each; more games tell only which of these networks is.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from baselines.evaluation.intervals import difference
from baselines.evaluation.rows import Row, cells_of, compared, heading, in_words, table, write_rows
from baselines.training.run_folder import installed
from tile_envs.game import Floats
from tile_envs.words import counted, printable

SHARED, OVER_SEEDS = ("env", "env_kwargs", "side", "episodes", "seed"), "Student's, over seeds"
"""What rows of several seeds share, and the method of intervals over seeds."""
SAMPLED = ["episodes", "mean", "low", "median", "max", "moves_per_second"]
EXACT = "share", "share_low", "mean", "win", "low", "draw", "draw_low", "loss", "loss_low", "worst"
"""The columns of tables, of which exact results have some."""
NOTED = "train_seed", "budget", "settings", "path", "versions", "date"
"""The columns that files have beside those of results."""
NO_GAMES = np.zeros(0)


class Result(NamedTuple):
    """A row of an agent, and what it comes from."""

    row: Row
    setting: str = ""  # what a trained agent shares with those that differ in the seed alone
    returns: Floats = NO_GAMES  # of each game, if it was sampled
    noted: Row = {}  # what is known of the columns `NOTED`


def by_setting(results: Sequence[Result]) -> list[list[Result]]:
    """Return results in lists that differ by the training seed alone, which comes once in each."""
    groups, seen = defaultdict[Any, list[Result]](list), Counter[Any]()
    for n, each in enumerate(results):
        kind, seed = (each.setting or n, each.row.get("side")), _seed(each)
        of_seed = kind, seed, n if seed is None else 0
        groups[kind, seen[of_seed]].append(each)  # a copied run is no further sample
        seen[of_seed] += 1
    return [sorted(runs, key=lambda run: _seed(run) or 0) for runs in groups.values()]


def over_seeds(results: Sequence[Result]) -> list[Row]:
    """Return a row for each setting with several seeds: the means over these.

    Each mean has Student's interval: `low` and `high` are that of the column `interval_of`, any
    other one has columns of its own, such as `share_low`.  What is of single games is None.
    """
    rows = []
    for runs in (each for each in by_setting(results) if each[1:]):
        first, notes = runs[0].row, [noted(run) for run in runs]
        row = {name: first[name] if name in SHARED else None for name in first}
        row |= {"agent": _name(runs), "interval_method": OVER_SEEDS}
        found, _ = difference(_values(runs), np.zeros(1), are_paired=True)
        row |= _estimated(compared(first), found, are_differences=False)
        for name in notes[0]:
            told = [each.get(name) for each in notes]
            row[name] = told if told[1:] != told[:-1] else told[0]
        rows.append(row)
    return rows


def _seed(result: Result) -> int | None:
    return result.noted.get("train_seed")


def _values(runs: Sequence[Result]) -> Floats:
    """Return the results `(k, n)` that n runs have in their k columns of `MEANS`."""
    results = [[run.row[name] for run in runs] for name in compared(runs[0].row)]
    return np.round(results, 9)  # further decimals depend on the order of additions


def _estimated(names: Sequence[str], found: Floats, are_differences: bool = True) -> Row:
    """Return estimates `(3, k)`, or without bounds `(1, k)`, as columns of a row."""
    row: Row = {"interval_of": names[0]}
    for name, values in zip(names, found.T, strict=False):
        prefix = f"{name}_" * (name != names[0])
        most = math.inf if name == "mean" and "win" not in names else 1  # of fractions and outcomes
        is_signed = are_differences or (name == "mean" and "win" in names)
        told = values.clip(-most if is_signed else 0, most).tolist()
        row |= zip((name, f"{prefix}low", f"{prefix}high"), told, strict=False)
    return row


def _name(runs: Sequence[Result]) -> str:
    more = f" and {counted(len(runs) - 1, 'more seed')}" * bool(runs[1:])
    return f"{printable(runs[0].row['agent'])}{more}"


def noted(result: Result) -> Row:
    """Return the columns of a row in a file that say what it comes from."""
    now = {"versions": installed(), "date": date.today().isoformat()}
    return dict.fromkeys(NOTED) | now | result.noted


def write_results(results: Sequence[Result], out: Path | None) -> list[Row]:
    """Write rows and their means over seeds, if a file is given; return the means."""
    means = over_seeds(results)
    if results and out is not None:
        of = {"interval_of": "mean"}
        rows = [each.row | (of if "low" in each.row else {}) | noted(each) for each in results]
        write_rows(rows + means, out)
    return means


def differences(results: Sequence[Result]) -> list[str]:
    """Return lines on each setting but the best: how far it is below.

    Where each trained one has several seeds, the interval is over these: of the differences of
    seeds, if they are the same or the other agent has none, else Welch's.  The games are the same
    for all, so that a second interval, game by game, tells what these networks owe to the games.
    """
    best, *others = sorted(by_setting(results), key=lambda runs: -_values(runs)[0].mean())
    return [line for other in others for line in _difference(best, other)]


def _difference(best: Sequence[Result], other: Sequence[Result]) -> list[str]:
    pair, names, lines = (best, other), compared(best[0].row), list[str]()
    title, (a, b) = " − ".join(map(_name, pair)), map(_values, pair)
    trained = [runs for runs in pair if runs[0].setting]
    why = ", of these networks: only several seeds of each compare settings" * bool(trained)
    if trained and all(runs[1:] for runs in trained):
        seeds = [[*map(_seed, runs)] for runs in trained]
        is_paired = seeds[0] == seeds[-1] and None not in seeds[0]
        found, needed = difference(a, b, are_paired=is_paired or len(trained) == 1)
        how = (", paired" if is_paired else ", unpaired") * (len(trained) == 2)
        advice = _advice(found[:, 0], needed[0] - min(map(len, trained)), "seed")
        lines.append(f"{title}: {in_words(_estimated(names, found))} over seeds{how}{advice}")
        title, why = "  of these networks", ""
    n = min(len(run.returns) for runs in pair for run in runs)
    games = [np.mean([run.returns[:n] for run in runs], axis=0, keepdims=True) for runs in pair]
    if n > 1 and np.ptp(games[0] - games[1]):
        found, needed = difference(*games, are_paired=True)
        advice = why if trained else _advice(found[:, 0], needed[0] - n, "game")
        lines.append(f"{title}: {in_words(_estimated(names, found))} over games{advice}")
    elif not n and not lines:
        found = (a.mean(axis=1) - b.mean(axis=1))[None]
        lines.append(f"{title}: {in_words(_estimated(names, found))}, exactly{why}")
    return lines


def _advice(found: Floats, missing: float, thing: str) -> str:
    """Return how many more seeds or games of each would tell apart what these do not."""
    if not found[1] <= 0 <= found[2]:
        return ""
    if math.isnan(missing):  # nothing differs, and nothing varies
        return ", the same"
    more = counted(max(1, math.ceil(min(missing, 1e9))), f"more {thing}")
    return f", not separable: about {more} would tell them apart"


def comparison(results: Sequence[Result]) -> str:
    """Return a table of each task, rows in their order and then means over seeds; differences."""
    text = list[str]()
    tasks = [(each.row["env"], str(each.row["env_kwargs"])) for each in results]
    for task in dict.fromkeys(tasks):
        alike = [each for each, of in zip(results, tasks, strict=True) if of == task]
        rows = [each.row for each in alike] + over_seeds(alike)
        how, columns = "exactly", [n for n in EXACT if any(n in row for row in rows)]
        if "episodes" in rows[0]:
            how, columns = f"games of seed {rows[0]['seed']}", SAMPLED
        text.append(heading(task[0], rows[0]["env_kwargs"], how))
        text += table(cells_of([(printable(row["agent"]), row) for row in rows], columns))
        if told := differences(alike):
            text += ["differences, 95 % intervals", *(f"  {line}" for line in told)]
    return "\n".join(text)
