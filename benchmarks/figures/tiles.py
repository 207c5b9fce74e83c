"""The picture of the tiles that players reach."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from baselines.viewing.figures import styled, svg
from benchmarks.figures.players import GAMES, colour_of, players
from benchmarks.rows import Committed, reached

SHOWN = 8
"""The largest tiles that anyone reaches in a hundredth of the games."""
LEAST = 0.01
WIDTH = 0.85
"""The share of its place that a group of bars takes."""


def by_tile(committed: Committed) -> bytes:
    """Draw the share of games in which players reach each of the largest tiles."""
    shares = {name: _shares(committed, env) for env, name in GAMES.items()}
    with styled():
        figure = Figure(figsize=(9.8, 3.2 * len(shares)), layout="constrained")
        axes = figure.subplots(len(shares), 1, squeeze=False)[:, 0]
        for axis, (game, of_game) in zip(axes, shares.items(), strict=True):
            faces = sorted({face for bars in of_game.values() for face in bars})
            places, width = np.arange(len(faces)), WIDTH / max(1, len(of_game))
            for number, (label, bars) in enumerate(of_game.items()):
                offset = (number - (len(of_game) - 1) / 2) * width
                heights = [bars.get(face, 0.0) for face in faces]
                axis.bar(places + offset, heights, width, label=label, color=colour_of(label))
            labels = [f"{face:,}" for face in faces]
            axis.set(title=game, xlabel="tile", xticks=places, xticklabels=labels)
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
            axis.grid(axis="x", visible=False)
            axis.legend(fontsize=8, ncols=1, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.supylabel("games that reach the tile", fontsize=10)
    return svg(figure, shares)


def _shares(committed: Committed, env: str) -> dict[str, dict[int, float]]:
    found = {name: reached(row) for name, row in players(committed, env).items()}
    faces = sorted({face for bars in found.values() for face in bars if bars[face] >= LEAST})
    return {
        name: {face: share for face, share in bars.items() if face in faces[-SHOWN:]}
        for name, bars in found.items()
    }
