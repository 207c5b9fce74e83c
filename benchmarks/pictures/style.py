"""One style for all pictures, and how they are written: the same rows make the same bytes."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
"""Okabe and Ito's, which colour-blind people tell apart."""

STYLE = {
    "axes.grid": True,
    "axes.prop_cycle": mpl.cycler(color=COLOURS),
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


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style while the body of `with` runs."""
    with mpl.rc_context(STYLE):
        yield


def svg(figure: Figure, data: Any) -> bytes:
    """Return a figure as SVG, without the time; its description stands for its data.

    So a picture is known to be old even where another matplotlib would draw other bytes.
    """
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()
    written = io.BytesIO()
    with styled():
        metadata = {"Date": None, "Description": f"data {digest}"}
        figure.savefig(written, format="svg", bbox_inches="tight", metadata=metadata)
    return written.getvalue()
