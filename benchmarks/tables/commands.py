"""The commands that make the rows, with their cost."""

from __future__ import annotations

from benchmarks.experiments import EXPERIMENTS, selected
from benchmarks.kinds import minutes_of
from benchmarks.tables.committed import Committed
from benchmarks.tables.markdown import table


def command(committed: Committed, label: str) -> str:
    """Return the command that makes a table's rows, and the minutes that it takes."""
    return f"`{_command(label)}`: {_cost(label)}."


def commands(committed: Committed) -> str:
    """Return all tables with their commands and minutes."""
    tables = dict.fromkeys(each.table for each in EXPERIMENTS)
    lines = [(name, f"`{_command(name)}`", _cost(name)) for name in tables]
    return table(("rows", "command", "cost"), [*lines, ("all", f"`{_command()}`", _cost())])


def _command(*labels: str) -> str:
    return " ".join(["python -m benchmarks run", *(f"--only {label}" for label in labels)])


def _cost(*labels: str) -> str:
    minutes = sum(map(minutes_of, selected(labels)))
    return f"{minutes:,.0f} minutes" if minutes >= 1.5 else "1 minute"
