"""Rows of results: as text, in files, and beside each other."""

import csv
import io
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.evaluation.intervals import interval_of_t
from baselines.progress import number
from tile_envs.errors import UsageError
from tile_envs.files import write_file
from tile_envs.words import counted, printable

Row = dict[str, Any]
SUFFIXES = ".csv", ".json"
"""The files that rows are written to."""
FORMULA = re.compile(r"[=@\t\r\n]|[+-](?![\d.]+(e[+-]?\d+)?$)", re.IGNORECASE)
"""How a text begins that spreadsheets compute; an apostrophe before it keeps it a text."""
OUTCOMES: tuple[str, ...] = ("win", "draw", "loss")
HEADINGS = {"low": f"{'95 % interval':>22}", "moves_per_second": f"{'moves / s':>12}"}
"""Headings of columns that are not their names."""
MEANS, COMPARED = ("mean", "share", *OUTCOMES), ("mean", "low", "median", "max", "moves_per_second")
"""The columns of results that are averaged over seeds, and those of a table of sampled results."""
SHARED, OVER_SEEDS = ("env", "env_kwargs", "side", "episodes", "seed"), "Student's, over seeds"
"""What rows of several seeds share, and the method of intervals over seeds."""
NO_GAMES = np.zeros(0)


class Printed(Row):
    """A row that is printed as the block of results that the field compares."""

    def __str__(self) -> str:
        return block(self)


def block(row: Row, with_speed: bool = True) -> str:
    head = ", ".join([f"{row['agent']} on {row['env']}", *options_of(row)])
    if "worst" in row:
        worst = {1: "wins", 0: "never loses", -1: "can lose"}[row["worst"]]
        fractions = "   ".join(f"  {key} {row[key]:.3%}" for key in OUTCOMES)
        return f"{head}, exactly\n{fractions}\n  against every opponent: {worst}"
    if "share" in row:
        lines = [f"  mean    {row['mean']:,.3f}, {row['share']:.3%} of the optimum"]
        lines += [f"  moves   {row['moves']:,.1f} a game", *_reach_lines(row["reach"])]
        return "\n".join([f"{head}, exactly", *lines])
    interval = f"   95 % interval {interval_text(row)}" if row["low"] is not None else ""
    low, median, high = (number(row[name]) for name in ("min", "median", "max"))
    lines = [
        f"{head}, {row['episodes']:,} games, seed {row['seed']}",
        f"  mean    {number(row['mean'])}{interval}",
        f"  median  {median}   min {low}   max {high}",
    ]
    if with_speed:
        lines.append(f"  moves   {row['moves_per_second']:,} a second")
    if "failed" in row:  # of a written strategy
        lines.append(f"  illegal {row['illegal']:,} answers, {row['repeated']:,} of them repeated")
    if row.get("failed"):
        lines.append(f"  failed  {counted(row['failed'], 'game')}: {printable(row['failure'])}")
    if usage := row.get("usage"):
        lines.append(f"  usage   {', '.join(f'{n:,} {name}' for name, n in usage.items())}")
    intervals = row["fraction_intervals"] or {}
    for name in OUTCOMES if "win" in row else ():
        interval = f"   95 % interval {_percents(intervals[name])}" if intervals else ""
        lines.append(f"  {name:<4}  {row[name]:>8.3%}{interval}")
    return "\n".join(lines + (_reach_lines(row["reach"], intervals) if row["reach"] else []))


def table(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table: names to the left, cells to the right, as wide as the first line's, or 11."""
    width = max(len(line[0]) for line in lines)
    widths = [max(11, len(cell)) for cell in lines[0][1:]]
    return [f"  {name:<{width}}" + "".join(map(str.rjust, cells, widths)) for name, *cells in lines]


def cells_of(rows: Sequence[tuple[str, Row]], columns: Sequence[str]) -> list[list[str]]:
    """Return the cells of a table of rows, each after a name, below its headings."""
    lines = [["", *(HEADINGS.get(column, column) for column in columns)]]
    for name, row in rows:
        shown = {n: number(v) for n, v in row.items() if isinstance(v, int | float)}
        shown |= {n: f"{row[n]:.2%}" for n in ("share", *OUTCOMES) if n in row}
        shown |= {"low": interval_text(row), "seconds": f"{row.get('seconds', 0):.1f}"}
        lines.append([name, *(shown.get(column, "") for column in columns)])
    return lines


def options_of(row: Row) -> list[str]:
    return [f"{key}={value}" for key, value in row["env_kwargs"].items()]


def interval_text(row: Row) -> str:
    return "" if row.get("low") is None else f"{number(row['low'])} to {number(row['high'])}"


def _percents(interval: Sequence[float]) -> str:
    return " to ".join(f"{bound:.2%}" for bound in interval)


def _reach_lines(reach: Row, intervals: Row | None = None) -> list[str]:
    """Return the fractions of games that reached each tile, and that ended with it as largest."""
    heading = [f"{'95 % interval':>20}"] if intervals else []
    lines = [[f"{'tile':>7}", "reached", *heading, "ended"]]
    for (face, share), beyond in zip(reach.items(), [*reach.values(), 0.0][1:], strict=True):
        if share > beyond:  # tiles that every game went beyond say nothing
            interval = [_percents(intervals[face])] if intervals else []
            lines.append([f"{face:>7}", f"{share:.2%}", *interval, f"{share - beyond:.2%}"])
    return table(lines)


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write rows to a `.json` file, a list, or to a `.csv` file, replaced when all is written.

    In `.csv` dictionaries and lists are JSON cells.  An object, such as an opponent, is its `str`.
    """
    text = io.StringIO()
    if path.suffix == ".json":
        text.write(json.dumps(list(rows), indent=2, default=str) + "\n")
    else:
        writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    write_file(path, text.getvalue().encode())


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a `.csv` file, as text by column."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows: list[Row] = printable(list(csv.DictReader(file)))
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is damaged: {error}.") from None
    for line, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise UsageError(f"{path} is damaged: line {line} has not as many cells as the first.")
        row |= {n: c[1:] for n, c in row.items() if c[:1] == "'" and FORMULA.match(c[1:])}
    return rows


class Result(NamedTuple):
    """A row of an agent, and what it comes from."""

    row: Row
    recipe: str = ""  # what its run shares with runs that differ in the seed alone
    returns: NDArray[np.float64] = NO_GAMES  # of each game, if it was sampled
    train_seed: int | None = None


def over_seeds(results: Sequence[Result]) -> list[Row]:
    """Return a row for each recipe with several runs: the means over their training seeds.

    `low` and `high` are Student's interval of the first; what is of single games is None.
    """
    rows = []
    for runs in (each for each in _by_recipe(results) if each[1:]):
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
    """Return results in lists that differ by the training seed alone, which comes once in each."""
    groups, seen = defaultdict[Any, list[Result]](list), Counter[Any]()
    for n, each in enumerate(results):
        kind = each.recipe or n, each.row.get("side")
        of_seed = kind, each.train_seed, n if each.train_seed is None else 0
        groups[kind, seen[of_seed]].append(each)  # a copied run is no further sample
        seen[of_seed] += 1
    return list(groups.values())


def _name(runs: Sequence[Result]) -> str:
    more = f" and {counted(len(runs) - 1, 'more seed')}" * bool(runs[1:])
    return f"{printable(runs[0].row['agent'])}{more}"


def write_results(results: Sequence[Result], out: Path | None) -> list[Row]:
    """Write rows and their means over seeds, if a file is given; return the means."""
    means = over_seeds(results)
    if results and out is not None:
        write_rows([result.row for result in results] + means, out)
    return means


def seeds_text(row: Row) -> str:
    first, *others = (f"{name} {number(row[name])}" for name in MEANS if row.get(name) is not None)
    text = f"{row['agent']} on {row['env']}: {first}, 95 % interval over seeds {interval_text(row)}"
    return ", ".join([text, *others, *options_of(row)])


def differences(results: Sequence[Result]) -> list[str]:
    """Return a line on each agent but the best: how far its mean is below, in the same games.

    Differences are paired, game by game, of means over training seeds, with Student's interval.
    Where it holds 0, the line says how many games would be needed to separate the agents.
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
            needed = f": about {counted(games, 'game')} would be needed" * bool(games)
            text += f", not separable{needed}"
        lines.append(text)
    return lines


def comparison(results: Sequence[Result]) -> str:
    """Return rows of sampled evaluation as tables, the best mean first, and paired differences."""
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
        text += table(cells_of(named, COMPARED))
        for kind in dict.fromkeys(str(each.row["env_kwargs"]) for each in of_env):
            alike = [each for each in of_env if str(each.row["env_kwargs"]) == kind]
            if told := differences(alike):
                heading = ["paired differences", *options_of(alike[0].row), "95 % intervals"]
                text += [", ".join(heading), *(f"  {line}" for line in told)]
    return "\n".join(text)
