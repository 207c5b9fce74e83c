"""Boards of small sliding games as keys, and the solver's steps from age to age, compiled.

A key is a board's cells, 5 bits each, row by row, the first one lowest: up to 12 cells in one word.
Of a board and its images under the symmetries, the lowest key stands for all of them.

States and afterstates of one age are rising lists of keys.
"""

import numpy as np
from numpy.typing import NDArray

from baselines.solver.boards import Values
from tile_envs.base.compiled import ONE, Word, compiled, compiled_loop
from tile_envs.base.random_stream import Words
from tile_envs.sliding.packed.kernels import (
    ACTIONS_END,
    CELL,
    CELL_IN_LINE,
    GameTables,
    Lines,
    Pushed,
    possible_cells,
    pushed_to,
    rows_after,
    transposed,
)
from tile_envs.sliding.packed.tables import CELL_BITS

_SECOND, _THIRD, _FOURTH = (Word(i * CELL_BITS) for i in (1, 2, 3))


@compiled
def lines_of(game: GameTables, key: Word) -> Lines:
    """Return the rows of a key."""
    width = Word(game.columns) * CELL
    mask = (Word(1) << width) - Word(1)
    return key & mask, key >> width & mask, key >> Word(2) * width & mask, key >> Word(3) * width


@compiled
def key_of(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return the key of a board, given by its rows: the lowest among those of its images."""
    lowest = _lowest(game, a, b, c, d)
    if game.square:
        p, q, r, s = transposed(a, b, c, d)
        return min(lowest, _lowest(game, p, q, r, s))
    return lowest


@compiled
def key_with(game: GameTables, key: Word, cell: int, tile: Word) -> Word:
    """Return the key of a board with a new tile on an empty cell, counted row by row."""
    a, b, c, d = lines_of(game, key | tile << Word(cell) * CELL)
    return key_of(game, a, b, c, d)


@compiled
def _lowest(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return the lowest key of a board, as it is, mirrored, upside down, and both."""
    p, q, r, s = _mirrored(game, a), _mirrored(game, b), _mirrored(game, c), _mirrored(game, d)
    return min(
        min(_downwards(game, a, b, c, d), _upwards(game, a, b, c, d)),
        min(_downwards(game, p, q, r, s), _upwards(game, p, q, r, s)),
    )


@compiled
def _downwards(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return rows in one word, the first one lowest."""
    width = Word(game.columns) * CELL
    return a | b << width | c << Word(2) * width | d << Word(3) * width


@compiled
def _upwards(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return rows in one word, the last one lowest."""
    if game.rows == 2:
        return _downwards(game, b, a, c, d)
    if game.rows == 3:
        return _downwards(game, c, b, a, d)
    return _downwards(game, d, c, b, a)


@compiled
def _mirrored(game: GameTables, row: Word) -> Word:
    """Return a row from its last cell to its first."""
    first, second = row & CELL_IN_LINE, row >> _SECOND & CELL_IN_LINE
    third, fourth = row >> _THIRD & CELL_IN_LINE, row >> _FOURTH
    mirrored = first << _FOURTH | second << _THIRD | third << _SECOND | fourth
    return mirrored >> Word(4 - game.columns) * CELL


@compiled
def find(keys: Words, low: int, high: int, key: Word) -> int:
    """Return the place of a key among the rising `keys[low:high]`, or of the next larger one."""
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@compiled_loop
def keys_of(game: GameTables, rows: Words) -> Words:
    """Return the keys of boards, given by their rows `(n, 4)`."""
    keys = np.zeros(len(rows), np.uint64)
    for i in range(len(rows)):
        keys[i] = key_of(game, rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3])
    return keys


@compiled_loop
def values_of(
    keys: Words, values: Values, begins: NDArray[np.int64], wanted: Words, ages: NDArray[np.int64]
) -> Values:
    """Return the values of boards of these keys and ages, `(m,)`, in `Layers`, NaN if absent."""
    found = np.full(len(wanted), np.nan)
    for i in range(len(wanted)):
        age = ages[i]
        if age < len(begins) - 1:
            place = find(keys, begins[age], begins[age + 1], wanted[i])
            if place < begins[age + 1] and keys[place] == wanted[i]:
                found[i] = values[place]
    return found


@compiled_loop
def count_boards(game: GameTables, keys: Words) -> int:
    """Return how many boards keys stand for: all different images of each."""
    total = 0
    for key in keys:
        a, b, c, d = lines_of(game, key)
        images, same = 0, 0
        for _ in range(2 if game.square else 1):
            for _ in range(2):
                same += _downwards(game, a, b, c, d) == key
                same += _upwards(game, a, b, c, d) == key
                images += 2
                a, b = _mirrored(game, a), _mirrored(game, b)
                c, d = _mirrored(game, c), _mirrored(game, d)
            a, b, c, d = transposed(a, b, c, d)
        total += images // same
    return total


@compiled
def pushed_board(
    game: GameTables, action: Word, a: Word, b: Word, c: Word, d: Word
) -> tuple[Pushed, Word]:
    """Push a board, given by its rows; return what that makes of it, and the afterstate's key."""
    after = pushed_to(game, action, a, b, c, d, transposed(a, b, c, d))
    a, b, c, d = rows_after(game, action, after)
    return after, key_of(game, a, b, c, d)


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
                keys[n] = key_with(game, afterstates[i], cell, tile)
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
    """Add to the values of afterstates, `out (n,)`, what follows if a new tile appears.

    The states that follow are among those given, `(m,)` rising keys and values.
    """
    cells = game.rows * game.columns
    for i in range(len(afterstates)):
        a, b, c, d = lines_of(game, afterstates[i])
        possible = possible_cells(game, a, b, c, d, tile)
        total, n = 0.0, 0
        for cell in range(cells):
            if possible >> Word(cell) & ONE:
                key = key_with(game, afterstates[i], cell, tile)
                total += values[find(states, 0, len(states), key)]
                n += 1
        out[i] += probability * (total / n)


@compiled_loop
def best_values(
    game: GameTables, states: Words, afterstates: Words, values: Values, weight: float
) -> Values:
    """Return the values `(n,)` of states, `max over a (w r + V(s'))`, 0 where no action is legal.

    Their afterstates are among those given, `(m,)` rising keys and values; w is the weight, 0 or 1.
    """
    best = np.zeros(len(states))
    for i in range(len(states)):
        a, b, c, d = lines_of(game, states[i])
        for direction in range(ACTIONS_END):
            after, key = pushed_board(game, Word(direction), a, b, c, d)
            if after.changed:
                value = values[find(afterstates, 0, len(afterstates), key)]
                best[i] = max(best[i], weight * float(after.reward) + value)
    return best
