"""Who places the new tiles: chance, the named adversary, or an object that a user brings.

The tile's value is always random; a placer chooses its cell, after the value has been drawn.  The
named adversary takes one of the *worst* cells, those with the lowest value, uniformly; the manual
of `tile_envs.sliding.Tiles2048Env` defines that value.
"""

from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import checked_cells
from tile_envs.base.random_stream import Words, choose
from tile_envs.game import Ints

Boards = NDArray[np.uint8]
Cells = NDArray[np.bool_]

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


def one_of(cells: Cells, words: Words) -> Ints:
    """Choose one of each set of cells `(R * C, n)`, by the high halves of random words."""
    ranks = cells.astype(np.uint8)
    for before, rank in pairwise(ranks):  # three times as fast as `cumsum`
        rank += before
    k = choose(words, ranks[-1].astype(np.uint64)).astype(np.uint8)
    chosen: NDArray[np.uint8] = np.add.reduce((ranks[:-1] <= k).view(np.uint8))
    return chosen.astype(np.int64)


def answers(placer: Any, boards: Boards, tiles: Ints) -> Ints:
    """Ask an object for the cells of new tiles, `(n,)`; if there are none, it is not asked."""
    games, cells = np.flatnonzero(tiles), np.zeros(len(tiles), np.int64)
    if len(games):
        asked = boards[games]
        answer = placer.place(asked.copy(), tiles[games])
        empty = asked.reshape(len(games), -1) == 0
        cells[games] = checked_cells(answer, empty, asked, f"the placer {type(placer).__name__}")
    return cells
