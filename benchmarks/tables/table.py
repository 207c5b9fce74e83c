"""Tables, in Markdown and as text, and how they write numbers."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.results import Row
from benchmarks.rows import MARK

Cell = str | Callable[[Any], str]
"""A column of a row, or of the first of several; or a function of what a line shows."""
Columns = Sequence[tuple[str, Cell]]
"""The headings of a table, each with the cells below it."""

NOTE = "† Made by an earlier version of the agent or measure."


@dataclass(frozen=True)
class Table:
    """The headings of a table, and the cells of each line, in Markdown."""

    head: Sequence[str]
    lines: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return it in Markdown, with a note below it if some of its lines are marked."""
        rows = [self.head, ["---"] * len(self.head), *self.lines]
        text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        is_marked = any(line[0].endswith(MARK) for line in self.lines)
        return f"{text}\n\n{NOTE}" if is_marked else text

    def text(self) -> str:
        """Return it as aligned text for a terminal."""
        rows = [
            [re.sub(r"\*\*|`|\[(.*?)\]\(.*?\)", r"\1", cell) for cell in row]
            for row in (self.head, *self.lines)
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        aligned = (map(str.ljust, row, widths) for row in rows)
        return "\n".join("  ".join(row).rstrip() for row in aligned)


def table(columns: Columns, items: Iterable[Any]) -> Table:
    """Return a table whose lines show items, each a row or a list of rows.

    A line is marked if an earlier version made one of its rows.
    """
    lines = []
    for item in items:
        rows = item if isinstance(item, list) else [item]
        first, *others = (
            cell(item) if callable(cell) else str(rows[0].get(cell, "")) for _, cell in columns
        )
        lines.append((first + MARK * any(row.get("is_stale") for row in rows), *others))
    return Table([heading for heading, _ in columns], lines)


def number(value: Any) -> str:
    """Return a number with separators, another text as it is, and nothing for nothing."""
    try:
        return f"{float(value):,.0f}"
    except (TypeError, ValueError):
        return str(value or "")


def percent(fraction: float) -> str:
    """Return a fraction in percent, with one decimal."""
    return f"{fraction:.1%}"


def number_of(column: str) -> Callable[[Row | Sequence[Row]], str]:
    """Return what writes the number in a column of a row, or of the first of several."""
    return lambda item: number((item if isinstance(item, dict) else item[0]).get(column))
