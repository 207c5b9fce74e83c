"""The named adversary once more, slow and obvious, and an object that places tiles."""

from __future__ import annotations

import numpy as np


def worst_by_force(game, board, tile):
    """Try a tile on every empty cell; return the worst ones for the player, in reading order."""
    cells = np.flatnonzero(board == 0).tolist()
    if not cells:
        return []
    placed = np.stack([board] * len(cells))
    for each, cell in zip(placed, cells, strict=True):
        each.flat[cell] = tile
    values = _values(game, placed)
    return [cell for cell, value in zip(cells, values, strict=True) if value == min(values)]


def _values(game, boards):
    """Return the highest reward plus number of empty cells after a legal move, or -1."""
    after, rewards, masks = game.afterstates(boards)
    gains = rewards + (after == 0).sum(axis=(2, 3))
    return np.where(masks, gains, -1).max(axis=1).tolist()


class LastCell:
    """Places every tile on the last empty cell, and keeps what it has been asked."""

    def __init__(self):
        self.asked = []

    def place(self, boards, tiles):
        self.asked.append((boards.copy(), tiles.copy()))
        cells = [np.flatnonzero(board == 0)[-1] for board in boards]
        boards[...] = 99  # they are its own
        return cells
