"""All tables by the names under which they stand on a page."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from benchmarks.rows import Committed
from benchmarks.tables import exact, published, speeds, strength
from benchmarks.tables.table import Table, made_with
from tile_envs.words import counted


def commands(committed: Committed) -> Table:
    lines = []
    for name in committed.experiments:
        rows = committed.rows(name)
        command = f"`python -m benchmarks run --only {name}`"
        lines.append((name, f"{len(rows):,}", command, made_with(rows)))
    return Table(("table", "rows", "command", "made"), lines)


def missing(committed: Committed) -> str:
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
    "ntuple": partial(strength.learners, name="ntuple"),
    "deep": partial(strength.learners, name="deep"),
    "search": partial(strength.learners, name="search"),
    "adversary": partial(strength.learners, name="adversary"),
    "recipe": strength.recipe,
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
