"""All tables by the names under which they stand on a page."""

import inspect
from collections import Counter
from collections.abc import Callable
from functools import partial

import gymnasium as gym

from benchmarks.experiments import GAME_2048, GAME_2584, TICTACTOE
from benchmarks.rows import Committed
from benchmarks.tables import exact, ladder, published, speeds, strength
from benchmarks.tables.table import Table, commits_and_days
from tile_envs.words import counted


def commands(committed: Committed) -> Table:
    lines: list[tuple[str, ...]] = []
    for name in committed.experiments:
        rows = committed.rows(name)
        command = f"`python -m benchmarks run --only {name}`"
        lines.append((name, f"{len(rows):,}", command, *commits_and_days(rows)))
    return Table(("table", "rows", "command", "commits", "made"), lines)


def manual(committed: Committed, env_id: str) -> str:
    return inspect.getdoc(type(gym.make(env_id).unwrapped)) or ""


def missing(committed: Committed) -> str:
    tables = Counter(each.table for each in committed.missing())
    lacks = (f"{counted(n, 'row')} of `{table}`" for table, n in tables.items())
    return f"Still to be made: {', '.join(lacks) or 'nothing'}."


TABLES: dict[str, Callable[[Committed], Table | str]] = {
    "badges": ladder.badges,
    "claim": ladder.claim,
    "ladder": ladder.ladder,
    "recipes": ladder.recipes,
    "headline": strength.headline,
    "commands": commands,
    "missing": missing,
    "threads": speeds.threads,
    "speed": speeds.environments,
    "speed-by-size": speeds.by_size,
    "accelerator": speeds.accelerator,
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
    "optimum": exact.optimum,
    "published-ntuple": partial(published.results, name="ntuple"),
    "published-deep": partial(published.results, name="deep"),
    "published-2584": partial(published.results, name="fibonacci"),
    "published-article": partial(published.results, name="article"),
    "sources": published.all_sources,
    **{env_id: partial(manual, env_id=env_id) for env_id in (GAME_2048, GAME_2584, TICTACTOE)},
}
