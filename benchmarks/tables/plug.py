"""The table of the libraries that train on the environments."""

from __future__ import annotations

from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.markdown import Line, marked, number, table


def clients(committed: Committed) -> str:
    """Return what each client has learned, beside random play."""
    head = ("library", "version", "algorithm", "environment", "games", "steps", "minutes")
    results = ("mean", "random play", "illegal actions: training, play")
    return table((*head, *results), [_line(row) for row in committed.rows("plug")])


def _line(row: Row) -> Line:
    games = f"{row['games']}, {row['autoreset']}" if row["autoreset"] else row["games"]
    line = (
        *(row["measure"], row["library_version"], row["algorithm"], f"`{row['env']}`", games),
        *(number(row["steps"]), f"{float(row['minutes']):.1f}"),
        f"{_result(row, 'mean')} ({_result(row, 'low')} to {_result(row, 'high')})",
        _result(row, "random"),
        f"{row['illegal_training']}, {row['illegal_play']}",
    )
    return marked(line, row)


def _result(row: Row, column: str) -> str:
    """Return a score, or the mean of results between -1 and 1."""
    value = float(row[column])
    return f"{value:.3f}" if row["env"] == "TicTacToe-v0" else number(value)
