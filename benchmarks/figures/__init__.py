"""The pictures of the pages, each a function of the committed rows; and the files themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import speed, strength
from benchmarks.rows import Committed

FOLDER = Path(__file__).parent

PICTURES: dict[str, Callable[[Committed], bytes]] = {
    "speed": speed.by_size,
    "learning": strength.by_minutes,
    "tiles": strength.by_tile,
    "scores": strength.distributions,
    "search": speed.by_milliseconds,
}
"""By the name of its file, what draws a picture, as SVG."""
