"""Expectimax over the values of an n-tuple network, compiled; see `expectimax` for the definition.

Values of afterstates are kept in a transposition table (Zobrist 1970, Greenblatt et al. 1967 for
chess), which is emptied when the network has changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Observations
from baselines.ntuple.ntuple import NTuple
from baselines.ntuple.values import Indices, Net, best_move, room_for, value_of
from tile_envs.base.compiled import ONE, Word, compiled_loop, mixed
from tile_envs.base.random_stream import Words
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.kernels import (
    ACTIONS_END,
    CELL,
    GameTables,
    count,
    game_tables,
    placed,
    possible_cells,
    pushed_to,
    rows_after,
    rows_of,
    transposed,
)
from tile_envs.sliding.tables import LINE_BITS

LINE, TWO_LINES = Word(LINE_BITS), Word(2 * LINE_BITS)
ENTRIES = 1 << 20
"""The size of a transposition table, of 20 bytes an entry: a power of two."""


class CompiledSearch:
    """Searches boards one after the other, with a transposition table of its own.

    Raises:
        ValueError: If the network is that of another game.
    """

    def __init__(self, learner: NTuple, game: SlidingGame) -> None:
        learner.check_plays(game)
        self._learner, self._game, self._tables = learner, game, game_tables(game)
        self._net, self._changes = learner.net, learner.changes
        keys, values = np.zeros((ENTRIES, 2), np.uint64), np.zeros(ENTRIES, np.float32)
        self._table = TranspositionTable(keys, values)

    def __call__(self, boards: Observations, depths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the action values `(n, 4)` of boards `(n, R, C)`, searched to depths `(n,)`."""
        rows = rows_of(self._game, boards)
        if self._changes != self._learner.changes:
            self._net, self._changes = self._learner.net, self._learner.changes
            self._table.keys[:] = 0
        return search(self._tables, self._net, self._table, rows, depths).astype(np.float64)


class TranspositionTable(NamedTuple):
    """Afterstates that have been searched; a new entry replaces the old one in its place.

    Attributes:
        keys: `(size, 2) uint64`, an afterstate's rows and the depth of its search; 0 is no entry.
        values: `(size,) float32`, its value.
    """

    keys: Words
    values: NDArray[np.float32]


@compiled_loop
def search(
    game: GameTables, net: Net, table: TranspositionTable, rows: Words, depths: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the action values `(n, 4)` of boards, reward included; minus infinity if illegal.

    Rows are `(n, 4)`, depths `(n,)` and at least 1.  The table is of this game and network.
    """
    values = np.full((len(rows), 4), -np.inf, np.float32)
    indices = np.zeros(room_for(net, ACTIONS_END), np.uint32)
    for i in range(len(rows)):
        a, b, c, d = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]
        columns = transposed(a, b, c, d)
        for direction in range(4):
            action = Word(direction)
            after = pushed_to(game, action, a, b, c, d, columns)
            if after.changed:
                if depths[i] == 1:
                    value = value_of(game, net, action, after, indices)
                else:
                    e, f, g, h = rows_after(game, action, after)
                    left = Word(depths[i] - 1)
                    value = afterstate_value(game, net, table, e, f, g, h, left, indices)
                values[i, direction] = np.float32(after.reward) + value
    return values


@compiled_loop
def afterstate_value(
    game: GameTables,
    net: Net,
    table: TranspositionTable,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    left: Word,
    indices: Indices,
) -> np.float32:
    """Return A(s', left) of an afterstate, given by its rows, `left` at least 1."""
    first = a | b << LINE | c << TWO_LINES
    second = d | left << LINE
    place = mixed(first ^ mixed(second)) & Word(len(table.values) - 1)
    if table.keys[place, 0] == first and table.keys[place, 1] == second:
        return np.float32(table.values[place])
    n_tiles = len(game.tiles)
    together = n_tiles if game.adversarial is None else 1  # tiles with the same possible cells
    expected = np.float64(0)
    for begin in range(0, n_tiles, together):
        cells = possible_cells(game, a, b, c, d, game.tiles[begin])
        total = np.float64(0)
        for line in range(game.rows):
            for column in range(game.columns):
                if not cells >> Word(line * game.columns + column) & ONE:
                    continue
                cell = Word(line) << CELL | Word(column) * CELL
                for i in range(begin, begin + together):
                    e, f, g, h = placed(a, b, c, d, cell, game.tiles[i])
                    highest = np.float32(-np.inf)
                    if left == ONE:
                        highest = best_move(game, net, e, f, g, h, indices, Word(0))[3]
                    else:
                        columns = transposed(e, f, g, h)
                        for direction in range(4):
                            action = Word(direction)
                            after = pushed_to(game, action, e, f, g, h, columns)
                            if after.changed:
                                p, q, r, s = rows_after(game, action, after)
                                value = afterstate_value(
                                    game, net, table, p, q, r, s, left - ONE, indices
                                )
                                highest = max(highest, value + np.float32(after.reward))
                    if highest > -np.inf:
                        total += game.probabilities[i] * highest
        expected += total / count(cells)
    value = np.float32(expected)
    table.keys[place, 0], table.keys[place, 1] = first, second
    table.values[place] = value
    return value
