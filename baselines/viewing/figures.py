"""One style for all pictures, and how they are written: the same data make the same bytes."""

import hashlib
import io
import json
from functools import partial
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

COLORS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#e69f00", "#000000", "#f0e442", "#888888"),
)
"""Okabe and Ito's, which color-blind people tell apart, and a gray."""
MARKERS = "os*^DvPXd"
"""For lines that share a color, or are printed in black."""

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLORS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "white",  # readable on a dark page, too
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 10,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "tile-envs",
}
styled = partial(mpl.rc_context, STYLE)
"""Pictures are drawn in this style while the body of `with styled()` runs."""


def svg(figure: Figure, data: Any) -> bytes:
    """Return a figure as SVG, without the time; its description stands for its data.

    So a picture is known to be old even where another matplotlib would draw other bytes.
    """
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()
    return drawn(figure, "svg", {"Date": None, "Description": f"data {digest}"})


def drawn(figure: Figure, suffix: str, metadata: dict[str, str | None] | None = None) -> bytes:
    """Return a figure as a file of this suffix, "svg" or "png"."""
    written = io.BytesIO()
    with styled():
        figure.savefig(written, format=suffix, bbox_inches="tight", metadata=metadata, dpi=150)
    return written.getvalue()
