"""The pictures of the pages, each a function of the committed rows; and the files themselves."""

from collections.abc import Callable

from benchmarks.figures import speed, strength
from benchmarks.rows import Committed

PICTURES: dict[str, Callable[[Committed], bytes]] = {
    "speed": speed.by_size,
    "learning": strength.learning,
    "reach": strength.reach,
    "search": strength.by_milliseconds,
}
"""By the name of its file, what draws a picture, as SVG."""
