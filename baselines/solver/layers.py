"""Steps of the solver, compiled: from the boards of one age to those that follow, and back.

Boards are keys (see `keys`).  States and afterstates of one age are rising lists of keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.solver.keys import find, key_of, lines_of
from tile_envs.base.compiled import ONE, Word, compiled, compiled_loop
from tile_envs.base.random_stream import Words
from tile_envs.sliding.kernels import (
    ACTIONS_END,
    CELL,
    GameTables,
    Lines,
    Pushed,
    is_vertical,
    placed,
    possible_cells,
    push,
    transposed,
)

Values = NDArray[np.float64]


@compiled
def pushed_board(
    game: GameTables, action: Word, a: Word, b: Word, c: Word, d: Word
) -> tuple[Pushed, Word]:
    """Push a board, given by its rows; return what it makes of it, and the key of that."""
    if is_vertical(action):
        p, q, r, s = transposed(a, b, c, d)
        after = push(game, action, p, q, r, s)
        p, q, r, s = transposed(after.a, after.b, after.c, after.d)
        return after, key_of(game, p, q, r, s)
    after = push(game, action, a, b, c, d)
    return after, key_of(game, after.a, after.b, after.c, after.d)


@compiled
def with_tile(game: GameTables, cell: int, tile: Word, a: Word, b: Word, c: Word, d: Word) -> Lines:
    """Return the rows of a board with a new tile on a cell, counted row by row."""
    row, column = cell // game.columns, cell % game.columns
    return placed(a, b, c, d, Word(row) << CELL | Word(column) * CELL, tile)


@compiled_loop
def afterstates_of(game: GameTables, states: Words) -> Words:
    """Return the keys of all afterstates of states, in any order and with repetitions."""
    keys = np.zeros(4 * len(states), np.uint64)
    n = 0
    for i in range(len(states)):
        a, b, c, d = lines_of(game, states[i])
        for direction in range(ACTIONS_END):
            after, key = pushed_board(game, Word(direction), a, b, c, d)
            if after.changed:
                keys[n] = key
                n += 1
    return keys[:n]


@compiled_loop
def states_after(game: GameTables, afterstates: Words, tile: Word) -> Words:
    """Return the keys of all states that follow afterstates with a new tile, with repetitions."""
    cells = game.rows * game.columns
    keys = np.zeros(cells * len(afterstates), np.uint64)
    n = 0
    for i in range(len(afterstates)):
        a, b, c, d = lines_of(game, afterstates[i])
        possible = possible_cells(game, a, b, c, d, tile)
        for cell in range(cells):
            if possible >> Word(cell) & ONE:
                p, q, r, s = with_tile(game, cell, tile, a, b, c, d)
                keys[n] = key_of(game, p, q, r, s)
                n += 1
    return keys[:n]


@compiled_loop
def add_expected(
    game: GameTables,
    afterstates: Words,
    tile: Word,
    probability: float,
    states: Words,
    values: Values,
    out: Values,
) -> None:
    """Add to the values of afterstates what follows if one of the new tiles appears.

    Args:
        game: The game.
        afterstates: Their keys, `(n,)`.
        tile: The new tile's index.
        probability: Its probability.
        states: The keys of the states that follow, and maybe others, `(m,)`, rising.
        values: Their values, `(m,)`.
        out: The values of the afterstates, `(n,)`.
    """
    cells = game.rows * game.columns
    for i in range(len(afterstates)):
        a, b, c, d = lines_of(game, afterstates[i])
        possible = possible_cells(game, a, b, c, d, tile)
        total, n = 0.0, 0
        for cell in range(cells):
            if possible >> Word(cell) & ONE:
                p, q, r, s = with_tile(game, cell, tile, a, b, c, d)
                total += values[find(states, 0, len(states), key_of(game, p, q, r, s))]
                n += 1
        out[i] += probability * (total / n)


@compiled_loop
def best_values(game: GameTables, states: Words, afterstates: Words, values: Values) -> Values:
    """Return the values of states, `max over a (r + V(s'))`, 0 where no action is legal.

    Args:
        game: The game.
        states: Their keys, `(n,)`.
        afterstates: The keys of all their afterstates, `(m,)`, rising.
        values: The values of these, `(m,)`.
    """
    best = np.zeros(len(states))
    for i in range(len(states)):
        a, b, c, d = lines_of(game, states[i])
        for direction in range(ACTIONS_END):
            after, key = pushed_board(game, Word(direction), a, b, c, d)
            if after.changed:
                value = float(after.reward) + values[find(afterstates, 0, len(afterstates), key)]
                best[i] = max(best[i], value)
    return best
