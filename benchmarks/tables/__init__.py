"""All tables by the names under which they stand on a page, and those of a terminal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.experiments import select
from benchmarks.results import KEYS
from benchmarks.rows import Committed
from benchmarks.tables import exact, published, speeds, strength
from benchmarks.tables.table import Table


def command(committed: Committed, label: str) -> str:
    """Return the command that makes a table's rows, and the minutes that it takes."""
    return f"`{_command(label)}`: {_cost(label)}."


def commands(committed: Committed) -> Table:
    """Return all tables with their commands and minutes."""
    lines = [(name, f"`{_command(name)}`", _cost(name)) for name in KEYS]
    return Table(("rows", "command", "cost"), [*lines, ("all", f"`{_command()}`", _cost())])


def _command(*labels: str) -> str:
    return " ".join(["python -m benchmarks run", *(f"--only {label}" for label in labels)])


def _cost(*labels: str) -> str:
    minutes = sum(experiment.total_minutes for experiment in select(labels))
    return f"{minutes:,.0f} minutes" if minutes >= 1.5 else "1 minute"


TABLES: dict[str, Callable[[Committed], Table | str]] = {
    "headline": strength.headline,
    "commands": commands,
    "machine": speeds.machine,
    "threads": speeds.threads,
    "speed": speeds.environments,
    "speed-by-size": speeds.by_size,
    "start-up": speeds.start_up,
    "kernels": speeds.ntuple,
    "bridge": speeds.sb3,
    "plug": speeds.clients,
    "sliding": strength.named,
    "article": strength.article,
    **{n: partial(strength.learners, name=n) for n in ("ntuple", "deep", "search", "ideas")},
    "recipe": strength.recipe,
    "tic-tac-toe": exact.sampled,
    "seeds": exact.seeds,
    "crosstable": exact.crosstable,
    "solved": exact.solved,
    "exact": exact.exact,
    "adversary": strength.adversary,
    "person": published.person,
    "published-ntuple": partial(published.results, name="ntuple"),
    "published-deep": partial(published.results, name="deep"),
    "published-2584": partial(published.results, name="fibonacci"),
    "sources": published.all_sources,
    **{f"command-{name}": partial(command, label=name) for name in KEYS},
}

IN_TERMINAL = (
    ("Mean scores of agents without training", "sliding", ("agents",)),
    ("Random play in the variant of the article", "article", ("agents",)),
    ("n-tuple networks", "ntuple", ("ntuple",)),
    ("Deep networks", "deep", ("deep",)),
    ("The recipe of the article", "recipe", ("recipe",)),
    ("The best of these networks, beside published ones", "headline", ("ntuple", "deep")),
    ("Tic-tac-toe, exactly", "crosstable", ("crosstable",)),
    ("Small boards, exactly", "exact", ("exact",)),
    ("Steps per second of CPU time by the number of games at once", "speed-by-size", ("speed",)),
    ("Steps per second of CPU time, the fastest", "speed", ("speed",)),
)
"""The tables of the short list: the title, the name, and whose rows they show."""


def summary(committed: Committed) -> str:
    """Return the tables of the short list as text; those without rows of ours are left out."""
    texts = []
    for title, name, sources in IN_TERMINAL:
        if any(committed.rows(source) for source in sources):
            made = TABLES[name](committed)
            if isinstance(made, Table) and made.lines:
                texts.append(f"{title}\n{made.text()}")
    return "\n\n".join([*texts, "These budgets are small: benchmarks/README.md has whole ones."])
