"""Fills the marked tables of README.md and of other pages, and draws their pictures and films.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; the pictures are in `figures/`.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from baselines.agents import LEARNERS, STRONG
from baselines.players import open_player
from baselines.viewing.film import write_film
from baselines.viewing.moves import agent_game
from benchmarks.experiments import GAME_2048, GAME_2584, TICTACTOE
from benchmarks.figures import PICTURES
from benchmarks.rows import Committed
from benchmarks.tables import TABLES
from benchmarks.tables.ladder import repository
from benchmarks.training import DEFAULTS, defaults_of
from tile_envs.errors import UsageError
from tile_envs.files import write_file

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGES = ROOT / "README.md", HERE / "README.md", *sorted((HERE / "pages").glob("*.md"))
PAGES += (*sorted((ROOT / "tile_envs" / "pages").glob("*.md")),)
LESSONS = sorted((HERE / "lessons").glob("*.ipynb"))
COLAB = "https://colab.research.google.com"
FIGURES = HERE / "figures"
FILMS = {"2048": (STRONG, GAME_2048, (3,)), "2584": (STRONG, GAME_2584, (0,))}
FILMS |= {"tictactoe": ("minimax", TICTACTOE, range(6))}
"""By the name of its file, who plays a film, in which environment, and the seeds of its games."""
SPEED, FRAMES = 8.0, 80  # positions per second, and at most in all
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write_pages() -> None:
    """Write all tables and pictures anew, new settings, and the film if its game has changed."""
    address = repository()
    defaults = {agent: defaults_of(agent) for agent in LEARNERS}
    write_file(DEFAULTS, (json.dumps(defaults, indent=1) + "\n").encode())
    committed = Committed()
    for name, draw in PICTURES.items():
        write_file(FIGURES / f"{name}.svg", made(name, draw, committed))
    for page in PAGES:
        write_file(page, fill(page.read_text(encoding="utf-8"), committed).encode())
    for lesson in LESSONS:
        write_file(lesson, with_badge(lesson, address).encode())
    for name in FILMS:
        path, games = FIGURES / f"{name}.gif", film(name)
        if not path.exists() or not is_current(path, games, SPEED, FRAMES):
            write_film(games, path, SPEED, FRAMES, _comment(games, SPEED, FRAMES))


def film(name: str) -> list[Any]:
    agent, env, seeds = FILMS[name]
    player = open_player(agent, env)
    return [agent_game(player, seed) for seed in seeds]


def is_current(path: Path, games: list[Any], speed: float, frames: int) -> bool:
    """Tell whether a film is of these games, by its comment."""
    with Image.open(path) as there:
        return bool(there.info.get("comment") == _comment(games, speed, frames).encode())


def _comment(games: list[Any], speed: float, frames: int) -> str:
    data = [[each.title, each.about, each.seed, *each.play_on().actions] for each in games]
    return f"data {hashlib.sha256(json.dumps([data, speed, frames]).encode()).hexdigest()}"


def fill(text: str, committed: Committed) -> str:
    """Return a page with all its marked tables made anew."""

    def filled(marked: re.Match[str]) -> str:
        begin, name, end = marked.groups()
        if name not in TABLES:
            raise UsageError(f"there is no table {name!r}: expected {', '.join(TABLES)}.")
        return f"{begin}{made(name, TABLES[name], committed)}\n{end}"

    return MARKED.sub(filled, text)


def with_badge(lesson: Path, address: str) -> str:
    """Return a notebook whose title has a badge that opens it in Colab, if there is an address."""
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    first = notebook["cells"][0]
    first["source"] = [line for line in first["source"] if COLAB not in line]
    if address:
        place = address.replace("https://github.com", f"{COLAB}/github")
        path = lesson.relative_to(ROOT).as_posix()
        badge = f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({place}/blob/main/{path})\n"
        first["source"].insert(1, badge)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def made(name: str, make: Callable[[Committed], Any], committed: Committed) -> Any:
    """Return a table or a picture; an error names it if its rows are damaged."""
    try:
        return make(committed)
    except UsageError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"rows that {name} is made of are damaged: {error}.") from error
