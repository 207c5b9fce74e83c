"""All tables by the names under which they stand on a page, and those of a terminal."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.rows import Committed
from benchmarks.tables import exact, published, speeds, strength
from benchmarks.tables.table import Table
from tile_envs.words import counted


def commands(committed: Committed) -> Table:
    """Return all tables with the numbers of their rows, their commands and minutes."""
    minutes = {experiment.table: 0.0 for experiment in committed.experiments}
    for experiment in committed.experiments:
        rows_of = experiment.wanted(committed.experiments)
        minutes[experiment.table] += sum(row.minutes for row in rows_of)
    rows = {table: len(committed.rows(table)) for table in minutes}
    lines = [(t, rows[t], f"`python -m benchmarks run --only {t}`", minutes[t]) for t in rows]
    lines += [("all", sum(rows.values()), "`python -m benchmarks run`", sum(minutes.values()))]
    written = [(name, f"{n:,}", command, f"{cost:,.0f}") for name, n, command, cost in lines]
    return Table(("table", "rows", "command", "minutes"), written)


def missing(committed: Committed) -> str:
    """Return how many rows of each table are still to be made."""
    tables = Counter(each.experiment.table for each in committed.missing())
    lacks = (f"{counted(n, 'row')} of `{table}`" for table, n in tables.items())
    return f"Still to be made: {', '.join(lacks) or 'nothing'}."


TABLES: dict[str, Callable[[Committed], Table | str]] = {
    "headline": strength.headline,
    "commands": commands,
    "missing": missing,
    "machine": speeds.machine,
    "threads": speeds.threads,
    "speed": speeds.environments,
    "speed-by-size": speeds.by_size,
    "accelerator": speeds.accelerator,
    "start-up": speeds.start_up,
    "kernels": speeds.ntuple,
    "bridge": speeds.sb3,
    "plug": speeds.clients,
    "agents": strength.named,
    "reproduction": strength.reproduction,
    **{
        name: partial(strength.learners, name=name)
        for name in ("ntuple", "deep", "search", "ideas", "recipe", "adversary")
    },
    "seeds": exact.seeds,
    "crosstable": exact.crosstable,
    "solved": exact.solved,
    "exact": exact.exact,
    "published-ntuple": partial(published.results, name="ntuple"),
    "published-deep": partial(published.results, name="deep"),
    "published-2584": partial(published.results, name="fibonacci"),
    "published-article": partial(published.results, name="article"),
    "sources": published.all_sources,
}

IN_TERMINAL = {
    "agents": "Agents that are not trained",
    "ntuple": "n-tuple networks",
    "deep": "Neural networks",
    "recipe": "The recipe of the article",
    "headline": "The best of these networks, beside published ones",
    "crosstable": "Tic-tac-toe, exactly",
    "exact": "Small boards, exactly",
    "speed-by-size": "Steps per second of CPU time by the number of games at once",
    "speed": "Steps per second of CPU time, the fastest",
}
"""The tables of the short list, with their titles."""


def summary(committed: Committed) -> str:
    """Return the tables of the short list as text; those without rows of ours are left out."""
    made: dict[str, Any] = {title: TABLES[name](committed) for name, title in IN_TERMINAL.items()}
    texts = (f"{title}\n{table.text()}" for title, table in made.items() if table.lines)
    return "\n\n".join([*texts, "These budgets are small: benchmarks/README.md has whole ones."])
