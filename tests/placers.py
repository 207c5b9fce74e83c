"""The named adversary once more, slow and obvious, and an object that places tiles."""

from __future__ import annotations

import numpy as np


def worst_by_force(game, board, tile):
    """Try a tile on every empty cell; return the worst ones for the player, in reading order."""
    values = {}
    for cell in np.flatnonzero(board == 0).tolist():
        placed = board.copy()
        placed.flat[cell] = tile
        values[cell] = _value(game, placed)
    return [cell for cell, value in values.items() if value == min(values.values())]


def _value(game, board):
    """Return the highest reward plus number of empty cells after a legal move, or -1."""
    (after,), (rewards,), (masks,) = game.afterstates(board[None])
    values = [rewards[i] + (after[i] == 0).sum() for i in range(4) if masks[i]]
    return max(values, default=-1)


class LastCell:
    """Places every tile on the last empty cell, and keeps what it has been asked."""

    def __init__(self):
        self.asked = []

    def place(self, boards, tiles):
        """Return the last empty cell of each board."""
        self.asked.append((boards.copy(), tiles.copy()))
        cells = [np.flatnonzero(board == 0)[-1] for board in boards]
        boards[...] = 99  # they are its own
        return cells
