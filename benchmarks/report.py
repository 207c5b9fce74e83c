"""Fills the marked tables of README.md and of the pages in `benchmarks`, and draws their pictures.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; the pictures are in `figures/`.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from baselines.agents import LEARNERS, STRONG
from benchmarks.experiments import GAME_2048
from benchmarks.rows import Committed
from benchmarks.tables import TABLES
from benchmarks.training import DEFAULTS, defaults_of
from tile_envs.errors import UsageError
from tile_envs.files import write_file

HERE = Path(__file__).parent
PAGES = HERE.parent / "README.md", HERE / "README.md", *sorted((HERE / "pages").glob("*.md"))
FIGURES = HERE / "figures"
FILM = FIGURES / "game.gif"
FILM_SEED, SPEED, FRAMES = 3, 8.0, 80
"""The game of the film, one with about the mean score of its player, and how it is shown."""
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write_pages() -> None:
    """Write all tables and pictures anew, new settings, and the film if its game has changed."""
    from baselines.viewing.film import write_film
    from benchmarks.figures import PICTURES

    defaults = {agent: defaults_of(agent) for agent in LEARNERS}
    write_file(DEFAULTS, (json.dumps(defaults, indent=1) + "\n").encode())
    committed = Committed()
    for name, draw in PICTURES.items():
        write_file(FIGURES / f"{name}.svg", made(name, draw, committed))
    for page in PAGES:
        write_file(page, fill(page.read_text(encoding="utf-8"), committed).encode())
    game = film()
    if not is_current(FILM, game, SPEED, FRAMES):
        write_film(game, FILM, SPEED, FRAMES, _comment(game, SPEED, FRAMES))


def film() -> list[Any]:
    """Return the game of the film."""
    from baselines.players import open_player
    from baselines.viewing.moves import agent_game

    return [agent_game(open_player(STRONG, GAME_2048), FILM_SEED, {})]


def is_current(path: Path, games: list[Any], speed: float, frames: int) -> bool:
    """Tell whether a film is of these games, by its comment."""
    from PIL import Image

    with Image.open(path) as there:
        return bool(there.info.get("comment") == _comment(games, speed, frames).encode())


def _comment(games: list[Any], speed: float, frames: int) -> str:
    data = [[each.title, each.about, each.seed, *each.play_on().actions] for each in games]
    return f"data {hashlib.sha256(json.dumps([data, speed, frames]).encode()).hexdigest()}"


def fill(text: str, committed: Committed) -> str:
    """Return a page with all its marked tables made anew.

    Raises:
        ValueError: If nobody makes a table that it names, or the rows of one are damaged.
    """

    def filled(marked: re.Match[str]) -> str:
        begin, name, end = marked.groups()
        if name not in TABLES:
            raise UsageError(f"there is no table {name!r}: expected {', '.join(TABLES)}.")
        return f"{begin}{made(name, TABLES[name], committed)}\n{end}"

    return MARKED.sub(filled, text)


def made(name: str, make: Callable[[Committed], Any], committed: Committed) -> Any:
    """Return a table or a picture; an error names it if its rows are damaged."""
    try:
        return make(committed)
    except UsageError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"rows that {name} is made of are damaged: {error}.") from error
