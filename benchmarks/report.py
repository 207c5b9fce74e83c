"""Fills the marked tables of README.md and benchmarks/README.md, and draws their pictures.

Both are made of the committed rows and of published figures.  A table stands between
`<!-- table: NAME -->` and `<!-- end -->`; the pictures are in `pictures/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.experiments import EXPERIMENTS
from benchmarks.figures import FOLDER, PICTURES
from benchmarks.tables import (
    adversary,
    commands,
    headline,
    others,
    plug,
    small_boards,
    speeds,
    strength,
    tictactoe,
)
from benchmarks.tables.committed import Committed
from tile_envs.errors import UsageError
from tile_envs.files import write_file

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "benchmarks" / "README.md")
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

TABLES: dict[str, Callable[[Committed], str]] = {
    "headline": headline.headline,
    "commands": commands.commands,
    "machine": speeds.machine,
    "speed": speeds.environments,
    "speed-by-size": speeds.by_size,
    "placers": speeds.placers,
    "start-up": speeds.start_up,
    "kernels": speeds.ntuple,
    "bridge": speeds.sb3,
    "plug": plug.clients,
    "sliding": strength.named,
    "article": strength.article,
    "ntuple": partial(strength.learners, name="ntuple"),
    "deep": partial(strength.learners, name="deep"),
    "recipe": strength.recipe,
    "tic-tac-toe": tictactoe.sampled,
    "seeds": tictactoe.seeds,
    "crosstable": tictactoe.crosstable,
    "solved": small_boards.solved,
    "exact": small_boards.exact,
    "adversary": adversary.adversary,
    "person": others.person,
    "published-ntuple": partial(others.published, name="ntuple"),
    "published-deep": partial(others.published, name="deep"),
    "published-2584": partial(others.published, name="fibonacci"),
    "sources": others.all_sources,
    **{
        f"command-{name}": partial(commands.command, label=name)
        for name in dict.fromkeys(each.table for each in EXPERIMENTS)
    },
}


def write_pages() -> None:
    """Write the tables of all pages anew, and the pictures."""
    committed = Committed()
    for name, draw in PICTURES.items():
        write_file(FOLDER / f"{name}.svg", draw(committed))
    for page in PAGES:
        text = filled(page.read_text(encoding="utf-8"), committed)
        write_file(page, text.encode())


def filled(text: str, committed: Committed) -> str:
    """Return a page with all its marked tables made anew.

    Raises:
        ValueError: If the page names a table that does not exist.
    """
    return MARKED.sub(lambda found: f"{found[1]}{_made(found[2], committed)}\n{found[3]}", text)


def _made(name: str, committed: Committed) -> str:
    if name not in TABLES:
        raise UsageError(f"there is no table {name!r}: expected {', '.join(TABLES)}.")
    return TABLES[name](committed)
