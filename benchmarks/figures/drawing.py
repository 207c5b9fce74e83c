"""What pictures share: panels side by side, and how their axes write numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from baselines.viewing.figures import styled
from benchmarks.experiments import GAME_2048, GAME_2584
from benchmarks.results import Row
from benchmarks.rows import MARK

LEARNERS = {"deep": "deep network", "ntuple": "n-tuple network", "search": "n-tuple network"}
"""The tables of learners, with what their agents are called."""
SLIDING = {"2048": GAME_2048, "2584": GAME_2584}
"""The sliding games, with their environments."""
SEPARATED = "{x:,g}"
"""Writes the numbers of an axis with separators: 16,384."""


@contextmanager
def panels(
    titles: Sequence[str], width: float, height: float, stacked: bool = False, **options: Any
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Draw panels of this size, in inches, in the body of `with`, one for each title.

    They stand side by side, or `stacked`; the options are those of matplotlib's `subplots`.
    """
    rows, columns = (len(titles), 1) if stacked else (1, len(titles))
    with styled():
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **options).ravel()
        for axis, title in zip(axes, titles, strict=True):
            axis.set(title=title)
        yield figure, list(axes)


def mark(rows: Iterable[Row]) -> str:
    """Return a mark if an earlier version made one of the rows."""
    return MARK if any(row["is_stale"] for row in rows) else ""
