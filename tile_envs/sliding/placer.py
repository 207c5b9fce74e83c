"""Who places the new tiles: chance, the named adversary, or an object that a user brings.

The tile's value is always random; a placer chooses its cell, after the value has been drawn.  The
named adversary takes one of the *worst* cells, those with the lowest value, uniformly; the manual
of `tile_envs.sliding.Tiles2048Env` defines that value.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import checked_cells
from tile_envs.base.engine import Ints
from tile_envs.base.random_stream import Words, choose
from tile_envs.sliding.packed import PLACES, Boards, pack, unpack
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, UP, Rules
from tile_envs.sliding.tables import CELL_BITS, CELL_MASK, Lines, Tables, compile_tables

Cells = NDArray[np.bool_]

_ANY_TILE = CELL_MASK << PLACES
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


def place(placer: str | Placer, tables: Tables, lines: Lines, tiles: Ints, words: Words) -> None:
    """Set new tiles on afterstates, in place, as a placer other than chance decides.

    `lines` are packed afterstates `(2, 4, n)`, unchanged if the placer fails, `tiles` their new
    tiles `(n,)`, 0 where none appears, and `words` their random words `(n,)`.
    """
    if isinstance(placer, str):
        cells = _one_of(worst_cells(tables, lines, tiles), words)
    else:
        cells = _answers(placer, unpack(tables, lines[0]), tiles)
    rows, columns = np.divmod(cells, tables.shape[1])
    every = np.arange(len(tiles))
    lines[0, rows, every] |= tiles << columns * CELL_BITS
    lines[1, columns, every] |= tiles << rows * CELL_BITS


def choose_cells(placer: str | Placer, boards: Boards, tiles: Ints, words: Words) -> Ints:
    """Choose the cells `(n,)` of new tiles on afterstates `(R, C, n)`, of any size; see `place`."""
    if placer == RANDOM:
        return _one_of((boards == 0).reshape(-1, len(tiles)), words)
    return _answers(placer, boards.transpose(2, 0, 1), tiles)


def possible_cells(placer: str | Placer, rules: Rules, boards: Boards, tile: int) -> Cells:
    """Return the cells of afterstates `(n, R, C)` on which a tile may appear, `(n, R, C)`."""
    empty: Cells = boards == 0
    if placer == RANDOM:
        return empty
    tiles, shape = np.full(len(boards), tile), boards.shape[1:]
    if placer == ADVERSARY:
        worst = worst_cells(compile_tables(rules, shape), pack(boards), tiles)
        return worst.T.reshape(boards.shape)
    chosen = _answers(placer, boards, tiles * empty.any(axis=(1, 2)))
    empty &= np.arange(math.prod(shape)).reshape(shape) == chosen[:, None, None]
    return empty


def worst_cells(tables: Tables, lines: Lines, tiles: Ints) -> Cells:
    """Return the cells that are worst for the player, `(R * C, n)`, of packed `(2, 4, n)`."""
    # A new tile changes one row and one column, so the value of a push is that of the other lines
    # plus that of the line with the tile.  An illegal push may count, too: it leaves no more cells
    # empty than a legal one and pays nothing.  So may a board without a legal move: it is full, and
    # had a single empty cell.
    n_rows, n_columns = tables.shape
    rows, columns = lines[0, :n_rows, None], lines[1, None, :n_columns]
    in_place = tiles << PLACES
    in_rows, in_columns = rows | in_place[:n_columns], columns | in_place[:n_rows, None]
    values = _values(tables, LEFT, rows, in_rows)
    np.maximum(values, _values(tables, RIGHT, rows, in_rows), out=values)
    np.maximum(values, _values(tables, UP, columns, in_columns), out=values)
    np.maximum(values, _values(tables, DOWN, columns, in_columns), out=values)
    empty = (rows & _ANY_TILE[:n_columns]) == 0
    np.copyto(values, np.iinfo(values.dtype).max, where=~empty)
    worst: Cells = (values == values.min(axis=(0, 1))) & empty
    return worst.reshape(n_rows * n_columns, len(tiles))


def _values(tables: Tables, action: int, lines: Lines, with_tile: Lines) -> NDArray[Any]:
    """Return the values of a push by the cell of the new tile, `(R, C, n)`.

    It pushes `lines`, `(R, 1, n)` rows or `(1, C, n)` columns; `with_tile` `(R, C, n)` is the line
    of each cell with the new tile on that cell.
    """
    gains = tables.gains[tables.offsets[action] :]
    before, values = gains.take(lines), gains.take(with_tile)
    values += before.sum(axis=(0, 1), dtype=gains.dtype) - before
    return values


def _one_of(cells: Cells, words: Words) -> Ints:
    """Choose one of each set of cells `(R * C, n)`, by the high halves of random words."""
    ranks = cells.astype(np.uint8)
    for before, rank in pairwise(ranks):  # three times as fast as `cumsum`
        rank += before
    k = choose(words, ranks[-1].astype(np.uint64)).astype(np.uint8)
    chosen: NDArray[np.uint8] = np.add.reduce((ranks[:-1] <= k).view(np.uint8))
    return chosen.astype(np.int64)


def _answers(placer: Any, boards: Boards, tiles: Ints) -> Ints:
    """Ask an object for the cells of new tiles, `(n,)`; if there are none, it is not asked."""
    games, cells = np.flatnonzero(tiles), np.zeros(len(tiles), np.int64)
    if len(games):
        asked = boards[games]
        answer = placer.place(asked.copy(), tiles[games])
        empty = asked.reshape(len(games), -1) == 0
        cells[games] = checked_cells(answer, empty, asked, f"the placer {type(placer).__name__}")
    return cells
