"""The pictures of the pages, each a function of the committed rows; and the files themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import learning, scores, search, speed, tiles
from benchmarks.rows import Committed

FOLDER = Path(__file__).parent

PICTURES: dict[str, Callable[[Committed], bytes]] = {
    "speed": speed.by_size,
    "learning": learning.by_minutes,
    "tiles": tiles.by_tile,
    "scores": scores.distributions,
    "search": search.by_milliseconds,
}
"""By the name of its file, what draws a picture, as SVG."""
