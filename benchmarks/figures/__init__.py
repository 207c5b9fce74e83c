"""The pictures of the pages, each a function of the committed rows; and the files themselves."""

from collections.abc import Callable
from functools import partial

from benchmarks.figures import speed, strength
from benchmarks.rows import Committed

PICTURES: dict[str, Callable[[Committed], bytes]] = {
    "speed": speed.by_size,
    "learning": strength.learning,
    "learning-2048": partial(strength.learning, games=("2048",)),
    "reach": strength.reach,
    "search": strength.by_milliseconds,
}
"""By the name of its file, what draws a picture, as SVG."""
