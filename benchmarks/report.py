"""Fills the marked tables of README.md and of the pages in `benchmarks`, and draws their pictures.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; the pictures are in `figures/`.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from baselines.agents import STRONG
from baselines.evaluation.rows import write_rows
from baselines.players import open_player
from baselines.viewing.film import write_film
from baselines.viewing.moves import Viewing, agent_game
from benchmarks.experiments import GAME_2048
from benchmarks.figures import speed, strength
from benchmarks.results import KEY, Row, name_of
from benchmarks.rows import Committed
from benchmarks.tables import TABLES
from tile_envs.errors import UsageError
from tile_envs.files import write_file

ROOT = Path(__file__).parent.parent
PAGES = (
    ROOT / "README.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "benchmarks" / "pages").glob("*.md")),
)
FIGURES = Path(__file__).parent / "figures"
MISSING = Path(__file__).parent / "missing.csv"
"""The list of the rows that the experiments ask for and that are still to be made, each with the
minutes that it takes beside the training that rows share."""
PICTURES: dict[str, Callable[[Committed], bytes]] = {
    "speed": speed.by_size,
    "learning": strength.learning,
    "tiles": strength.by_tile,
    "scores": strength.distributions,
    "search": speed.by_milliseconds,
}
"""By the name of its file, what draws a picture, as SVG."""
FILM = FIGURES / "game.gif"
FILM_SEED, SPEED, FRAMES = 3, 8.0, 80
"""The game of the film, one with about the mean score of its player, and how it is shown."""
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write_pages() -> None:
    """Write the tables of all pages anew, and the pictures; the film if its game has changed."""
    committed = Committed()
    write_rows(missing(committed), MISSING)
    for name, draw in PICTURES.items():
        write_file(FIGURES / f"{name}.svg", _made(name, draw, committed))
    for page in PAGES:
        text = fill(page.read_text(encoding="utf-8"), committed)
        write_file(page, text.encode())
    game = film()
    if not is_current(FILM, game, SPEED, FRAMES):
        write_film(game, FILM, SPEED, FRAMES, _comment(game, SPEED, FRAMES))


def film() -> list[Viewing]:
    """Return the game of the film."""
    return [agent_game(open_player(STRONG, GAME_2048), FILM_SEED, {})]


def is_current(path: Path, games: list[Viewing], speed: float, frames: int) -> bool:
    """Tell whether a film is of these games, by its comment."""
    with Image.open(path) as there:
        return bool(there.info.get("comment") == _comment(games, speed, frames).encode())


def _comment(games: list[Viewing], speed: float, frames: int) -> str:
    data = [[each.title, each.about, each.seed, *each.play_on().actions] for each in games]
    return f"data {hashlib.sha256(json.dumps([data, speed, frames]).encode()).hexdigest()}"


def missing(committed: Committed) -> list[Row]:
    """Return the list of the rows that are still to be made."""
    return [
        {
            "experiment": str(each.experiment),
            "row": ", ".join(filter(None, name_of(each.experiment.table, each.name))),
            "minutes": f"{each.minutes:.1f}",
            KEY: each.key,
        }
        for each in committed.missing()
    ]


def fill(text: str, committed: Committed) -> str:
    """Return a page with all its marked tables made anew."""

    def made(marked: re.Match[str]) -> str:
        begin, name, end = marked.groups()
        if name not in TABLES:
            raise UsageError(f"there is no table {name!r}: expected {', '.join(TABLES)}.")
        table = _made(name, TABLES[name], committed)
        return f"{begin}{table if isinstance(table, str) else table.markdown()}\n{end}"

    return MARKED.sub(made, text)


def _made(name: str, make: Callable[[Committed], Any], committed: Committed) -> Any:
    try:
        return make(committed)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"rows that {name} is made of are damaged: {error}.") from error
