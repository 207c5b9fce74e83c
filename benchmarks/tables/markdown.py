"""Tables in Markdown, and how they write numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Line = tuple[str, ...]

MARK = " †"
NOTE = "† Made by an earlier version of the agent or measure."


def table(head: Sequence[str], lines: Sequence[Line]) -> str:
    """Return a table, with a note below it if some of its lines are marked."""
    rows = [head, ["---"] * len(head), *lines]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    is_marked = any(line[0].endswith(MARK) for line in lines)
    return f"{text}\n\n{NOTE}" if is_marked else text


def marked(line: Line, *rows: Row) -> Line:
    """Return a line that is marked if an earlier version made one of its rows."""
    return (line[0] + MARK, *line[1:]) if any(row["is_stale"] for row in rows) else line


def number(figure: Any) -> str:
    """Return a number with separators, another text as it is, and nothing for nothing."""
    try:
        return f"{float(figure):,.0f}"
    except (TypeError, ValueError):
        return str(figure or "")


def millions(figure: Any) -> str:
    """Return a number in millions, of three digits."""
    return f"{float(figure) / 1e6:.3g} M"


def mean(row: Row) -> str:
    """Return a mean with its interval, if it has one."""
    if not row.get("low"):
        return number(row.get("mean"))
    return f"{number(row['mean'])} ({number(row['low'])} to {number(row['high'])})"


def mean_of_seeds(rows: Sequence[Row]) -> str:
    """Return the mean of several training seeds with their range; of one, with its interval."""
    if len(rows) == 1:
        return mean(rows[0])
    means = sorted(float(row["mean"]) for row in rows)
    average = sum(means) / len(means)
    return f"{number(average)} (seeds: {number(means[0])} to {number(means[-1])})"


def ranged(row: Row) -> str:
    """Return a speed or another measure, with the range of its turns."""
    value, low, high = (_measured(float(row[name])) for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def _measured(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def minutes(figure: Any) -> str:
    """Return a number of minutes without needless digits."""
    return f"{float(figure):g}" if figure else ""


def ply(row: Row) -> str:
    """Return how many moves are looked ahead, and how many tiles are drawn if not all count."""
    samples = str(row.get("samples") or 0)
    depth = str(row.get("depth") or "")
    return f"{depth}, {samples} drawn" if samples != "0" else depth


def times(ratio: float) -> str:
    """Return a ratio of speeds."""
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def reached(row: Row) -> dict[int, float]:
    """Return the share of games that reached each tile, by its face."""
    return {int(face): share for face, share in json.loads(row["reach"]).items()}


def top(row: Row) -> str:
    """Return the largest tile that a tenth of the games reached, and how many did."""
    face, share = [(face, share) for face, share in reached(row).items() if share >= 0.1][-1]
    return f"{face} in {share:.0%}"
