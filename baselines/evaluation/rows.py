"""Rows of results, as text and in files."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from baselines.progress import number
from tile_envs.errors import UsageError
from tile_envs.files import write_file
from tile_envs.words import counted, printable

Row = dict[str, Any]
csv.field_size_limit(1 << 30)  # a part has the scores of all its games in one cell
SUFFIXES = ".csv", ".json"  # of the files that rows are written to
FORMULA = re.compile(r"[=@\t\r\n]|[+-](?![\d.]+(e[+-]?\d+)?$)", re.IGNORECASE)
"""How a text begins that spreadsheets compute; an apostrophe before it keeps it a text."""
OUTCOMES: tuple[str, ...] = ("win", "draw", "loss")
FRACTIONS = "share", *OUTCOMES
MEANS = "mean", *FRACTIONS  # the columns of results that are averaged over seeds
HEADINGS = {"low": f"{'95 % interval':>22}", "moves_per_second": f"{'moves / s':>12}"}
"""Headings of columns that are not their names."""


class Printed(Row):
    """A row that is printed as the block of results that the field compares."""

    def __str__(self) -> str:
        return block(self)


def block(row: Row, with_speed: bool = True) -> str:
    head = heading(f"{row['agent']} on {row['env']}", row["env_kwargs"])
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

    def cell(row: Row, name: str) -> str:
        if name.endswith("low"):
            return interval_text(row, name)
        return "" if row.get(name) is None else shown(name, row[name])

    known = ["low" if column.endswith("low") else column for column in columns]
    lines = [["", *(HEADINGS.get(column, column) for column in known)]]
    return lines + [[name, *(cell(row, column) for column in columns)] for name, row in rows]


def shown(column: str, value: float) -> str:
    return f"{value:.2%}" if column in FRACTIONS else number(value)


def heading(what: str, options: Mapping[str, Any], *more: str) -> str:
    return ", ".join([what, *(f"{name}={value}" for name, value in options.items()), *more])


def compared(row: Row) -> list[str]:
    return [name for name in MEANS if name in row]


def in_words(row: Row) -> str:
    """Return the means of a row, each with its interval, if there is one."""
    texts = []
    for name in compared(row):
        bounds = interval_text(row, f"{name}_low" if name != row.get("interval_of") else "low")
        texts.append(f"{name} {shown(name, row[name])}" + f" ({bounds})" * bool(bounds))
    return ", ".join(texts)


def interval_text(row: Row, column: str = "low") -> str:
    """Return the interval of a row whose lower bound is in a column."""
    of = column.removesuffix("low").rstrip("_") or row.get("interval_of", "mean")
    if row.get(column) is None:
        return ""
    high = f"{column.removesuffix('low')}high"
    return f"{shown(of, row[column])} to {shown(of, row[high])}"


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
