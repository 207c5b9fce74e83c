"""The pictures of the pages, each a function of the committed rows; and the files themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.pictures import speed
from benchmarks.tables.committed import Committed

FOLDER = Path(__file__).parent

PICTURES: dict[str, Callable[[Committed], bytes]] = {"speed": speed.by_size}
"""By the name of its file, what draws a picture, as SVG."""
