"""All tables by the names under which they stand on a page."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from benchmarks.rows import Committed
from benchmarks.tables import exact, published, speeds, strength
from benchmarks.tables.table import Table, made_with
from tile_envs.words import counted


def commands(committed: Committed) -> Table:
    """Return all tables with the numbers of their rows, their commands, and what made them."""
    columns = ("table", "rows", "command", "made")
    rows = {table: committed.rows(table) for table in committed.experiments}
    lines = [
        (name, f"{len(of):,}", f"`python -m benchmarks run --only {name}`", made_with(of))
        for name, of in rows.items()
    ]
    return Table(columns, lines)


def missing(committed: Committed) -> str:
    """Return how many rows of each table are still to be made."""
    tables = Counter(each.table for each in committed.missing())
    lacks = (f"{counted(n, 'row')} of `{table}`" for table, n in tables.items())
    return f"Still to be made: {', '.join(lacks) or 'nothing'}."


TABLES: dict[str, Callable[[Committed], Table | str]] = {
    "headline": strength.headline,
    "commands": commands,
    "missing": missing,
    "threads": speeds.threads,
    "speed": speeds.environments,
    "speed-by-size": speeds.by_size,
    "accelerator": speeds.accelerator,
    "start-up": speeds.start_up,
    "kernels": speeds.ntuple,
    "bridge": speeds.sb3,
    "plug": speeds.libraries,
    "agents": strength.named,
    "reproduction": strength.reproduction,
    **{
        name: partial(strength.learners, name=name)
        for name in ("ntuple", "deep", "search", "adversary")
    },
    "recipe": strength.recipe,
    "seeds": exact.seeds,
    "crosstable": exact.crosstable,
    "solved": exact.solved,
    "exact": exact.exact,
    **{
        f"published-{page}": partial(published.results, name=name)
        for page, name in (
            *(("ntuple", "ntuple"), ("deep", "deep")),
            *(("2584", "fibonacci"), ("article", "article")),
        )
    },
    "sources": published.all_sources,
}
