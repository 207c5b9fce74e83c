"""Tables in Markdown, and how they write numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.results import Row
from benchmarks.rows import MARK, mark

Columns = Sequence[tuple[str, str | Callable[[Any], str]]]
"""Headings, each with the cells below it: a column of a row, or a function of what a line shows."""
NOTE = "† Stale: settings, versions or code have changed since this result."


@dataclass(frozen=True)
class Table:
    """The headings of a table, the cells of each line, in Markdown, and notes below it."""

    head: Sequence[str]
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        rows = [self.head, ["---"] * len(self.head), *self.lines]
        text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        is_marked = any(line[0].endswith(MARK) for line in self.lines)
        return "\n\n".join([text, *self.notes, *([NOTE] if is_marked else [])])


def table(columns: Columns, items: Iterable[Any], notes: Sequence[str] = ()) -> Table:
    """Return a table of items, each a row or a list of rows; those out of date are marked."""
    lines = []
    for item in items:
        rows = item if isinstance(item, list) else [item]
        first, *others = (
            cell(item) if callable(cell) else str(rows[0].get(cell, "")) for _, cell in columns
        )
        lines.append((first + mark(rows), *others))
    return Table([heading for heading, _ in columns], lines, notes)


def commits_and_days(rows: Iterable[Row]) -> tuple[str, str]:
    """Return the commit of rows, or how many there are, and the days on which they were made."""
    commits = dict.fromkeys(row["commit"][:7] for row in rows)
    days = sorted({row["date"][:10] for row in rows})
    named = next(iter(commits)) if len(commits) == 1 else f"{len(commits)} commits"
    return named, f"{days[0]} to {days[-1]}" if days[1:] else "".join(days)


def measured_with(rows: Sequence[Row]) -> list[str]:
    processors = dict.fromkeys(row["processor"] for row in rows if row["processor"])
    return [f"Measured with {', '.join([*processors, *commits_and_days(rows)])}."]


def number(value: Any) -> str:
    """Return a number with separators, another text as it is, and nothing for nothing."""
    try:
        return f"{float(value):,.0f}"
    except (TypeError, ValueError):
        return str(value or "")


def number_of(column: str) -> Callable[[Row | Sequence[Row]], str]:
    """Return what writes the number in a column of a row, or of the first of several."""
    return lambda item: number((item if isinstance(item, dict) else item[0]).get(column))
