"""What pictures share: panels, styles of lines, and how axes write numbers."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from baselines.viewing.curves import COLORS, drawn, styled
from benchmarks.experiments import GAME_2048, GAME_2584
from benchmarks.results import Row
from benchmarks.rows import MARK, Committed, kind, learned

LEARNERS = ("deep", "ntuple", "search")
"""The tables of learners."""
SLIDING = {"2048": GAME_2048, "2584": GAME_2584}
"""The sliding games, with their environments."""
_BLUE, _RED, _GREEN, _PINK, _, _ORANGE, _BLACK, _, _GRAY = COLORS
PUBLISHED = "published"
PLAYERS = {
    **{"random": _GRAY, "greedy": _BLACK, "strong": _GREEN, "looked-up patterns": _BLUE},
    **{"CNN": _PINK, "n-tuple network": _RED, PUBLISHED: _ORANGE},
}
"""The color of each kind of player, the same in all pictures."""
MARKERS = "os*^DvPXd"
"""For lines that share a color, or are printed in black."""
SEPARATED = "{x:,g}"
"""Writes the numbers of an axis with separators: 16,384."""


def svg(figure: Figure, data: Any) -> bytes:
    """Return a figure as SVG, without the time; its description stands for its data.

    So a picture is known to be old even where another matplotlib would draw other bytes.
    """
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()
    return drawn(figure, "svg", {"Date": None, "Description": f"data {digest}"})


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


def styles(colors: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return how the line of each label is drawn, by its color.

    Lines of one color differ by their shade, dashes and markers.
    """
    known: dict[str, int] = {}
    looks = {}
    for label, color in colors.items():
        n = known[color] = known.get(color, -1) + 1
        looks[label] = {
            "color": shade(color, n % 3),
            "marker": MARKERS[(len(known) + n - 1) % len(MARKERS)],
            "linestyle": ("-", "--", "-.", ":")[n // 3 % 4],
            "label": label,
        }
    return looks


def shade(color: str, n: int) -> str:
    """Return a color as it is (0), darker (1) or lighter (2)."""
    toward, share = ((0, 0.0), (0, 0.45), (1, 0.45))[n]
    red, green, blue = (part + (toward - part) * share for part in to_rgb(color))
    return to_hex((red, green, blue))


def trainings(committed: Committed, others: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return how lines of trainings, by `training_name`, and of published ones are drawn."""
    rows = [row for row in learned(committed, *LEARNERS) if row["minutes"]]
    colors = {training_name(row): PLAYERS[kind(row)] for row in rows}
    return styles(colors | dict.fromkeys(others, PLAYERS[PUBLISHED]))


def training_name(row: Row) -> str:
    """Return the name of what a learner has learned with."""
    return f"n-tuple, {row['label']}" if row["agent"] == "ntuple" else str(row["label"])


def mark(rows: Iterable[Row]) -> str:
    """Return a mark if an earlier version made one of the rows."""
    return MARK if any(row["is_stale"] for row in rows) else ""
