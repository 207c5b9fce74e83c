"""What pictures share: panels, styles of lines, and how axes write numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from baselines.viewing.figures import COLORS, MARKERS, styled
from benchmarks.experiments import GAME_2048, GAME_2584
from benchmarks.results import Row
from benchmarks.rows import MARK

LEARNERS = ("deep", "ntuple", "search")
"""The tables of learners."""
SLIDING = {"2048": GAME_2048, "2584": GAME_2584}
"""The sliding games, with their environments."""
SEPARATED = "{x:,g}"
"""Writes the numbers of an axis with separators: 16,384."""


@contextmanager
def panels(
    titles: Sequence[str], width: float, height: float, columns: int = 2, **options: Any
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Draw panels of this size, in inches, in the body of `with`, one for each title.

    They stand in so many columns; the options are those of matplotlib's `subplots`.
    """
    rows = -(-len(titles) // columns)
    with styled():
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **options).ravel()
        for axis, title in zip(axes, titles, strict=True):
            axis.set(title=title)
        yield figure, list(axes)


def styles(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return how the line of each label is drawn, in any number of them no two alike."""
    n = len(COLORS)
    return {
        label: {
            "color": COLORS[place % n],
            "marker": MARKERS[(place + place // n) % len(MARKERS)],
            "linestyle": ("-", "-.", ":")[place // n % 3],
            "label": label,
        }
        for place, label in enumerate(dict.fromkeys(labels))
    }


def mark(rows: Iterable[Row]) -> str:
    """Return a mark if an earlier version made one of the rows."""
    return MARK if any(row["is_stale"] for row in rows) else ""
