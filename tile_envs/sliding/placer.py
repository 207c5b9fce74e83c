"""Who places the new tiles: chance, the named adversary, or an object that a user brings.

The tile's value is always random; a placer chooses its cell, after the value has been drawn.  The
named adversary takes the cell that leaves the player the least.  The value of a cell is

    max over legal moves  (reward + number of empty cells after the move, before another tile)

on the board with the tile on it, -1 if no move is legal.  The cells with the lowest value are the
*worst* ones, of which the adversary takes one, uniformly.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.checks import brief

RANDOM, ADVERSARY = NAMED = "random", "adversary"


@runtime_checkable
class Placer(Protocol):
    """Chooses the cells of new tiles."""

    def place(self, boards: NDArray[np.uint8], tiles: NDArray[np.int64]) -> ArrayLike:
        """Choose a cell for each new tile.

        Args:
            boards: Afterstates, `(n, R, C)` tile indices.
            tiles: The indices of the tiles that have been drawn, `(n,)`.

        Returns:
            The cells, `(n,)` integers in reading order, `row * C + column`.
        """


def checked_placer(placer: object) -> str | Placer:
    """Return a placer that exists.

    Raises:
        ValueError: If it is neither a known name nor an object with `place`.
    """
    is_object = isinstance(placer, Placer) and not isinstance(placer, type)
    known = placer in NAMED if isinstance(placer, str) else is_object
    if not known:
        raise ValueError(
            f"placer must be {', '.join(map(repr, NAMED))} or an object with place(), "
            f"got {brief(placer)}."
        )
    return placer  # type: ignore[return-value]
