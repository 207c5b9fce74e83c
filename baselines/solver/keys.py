"""Boards of small sliding games as keys, and the solver's steps from age to age, compiled.

A key is a board's cells, 5 bits each, row by row, the first one lowest: up to 12 cells in one word.
Of a board and its images under the symmetries, the lowest key stands for all of them.  States and
afterstates of one age are rising lists of keys.
"""

import numpy as np

from baselines.pushes import possible_cells, pushed_to, rows_after
from tile_envs.base.compiled import ONE, Word, compiled, compiled_loop
from tile_envs.base.random_stream import Words
from tile_envs.game import Floats, Ints
from tile_envs.sliding.compiled import ACTIONS_END
from tile_envs.sliding.packed.kernels import CELL, CELL_IN_LINE, GameTables, Lines, transposed

TWO, THREE = Word(2) * CELL, Word(3) * CELL


@compiled
def rows_in(game: GameTables, board: Word) -> Lines:
    width = Word(game.columns) * CELL
    mask = (ONE << width) - ONE
    third, fourth = board >> Word(2) * width, board >> Word(3) * width
    return board & mask, board >> width & mask, third & mask, fourth


@compiled
def joined(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    width = Word(game.columns) * CELL
    return a | b << width | c << Word(2) * width | d << Word(3) * width


@compiled
def mirror(game: GameTables, row: Word) -> Word:
    first, second = row & CELL_IN_LINE, row >> CELL & CELL_IN_LINE
    third, fourth = row >> TWO & CELL_IN_LINE, row >> THREE
    mirrored = first << THREE | second << TWO | third << CELL | fourth
    return mirrored >> Word(4 - game.columns) * CELL


@compiled
def images_of(game: GameTables, board: Word) -> Lines:
    a, b, c, d = rows_in(game, board)
    p, q, r, s = mirror(game, a), mirror(game, b), mirror(game, c), mirror(game, d)
    if game.rows == 2:
        return board, joined(game, b, a, c, d), joined(game, p, q, r, s), joined(game, q, p, r, s)
    if game.rows == 3:
        return board, joined(game, c, b, a, d), joined(game, p, q, r, s), joined(game, r, q, p, s)
    return board, joined(game, d, c, b, a), joined(game, p, q, r, s), joined(game, s, r, q, p)


@compiled
def transpose(game: GameTables, board: Word) -> Word:
    return joined(game, *transposed(*rows_in(game, board)))


@compiled
def key_of(game: GameTables, board: Word) -> Word:
    """Return the key of a board in one word: the lowest among its images."""
    lowest = min(*images_of(game, board))
    if game.rows == game.columns:
        lowest = min(lowest, *images_of(game, transpose(game, board)))
    return lowest


@compiled
def played(game: GameTables, state: Word, action: Word) -> tuple[Word, Word]:
    """Return the key of the afterstate of an action, 0 if it is illegal, and the reward."""
    a, b, c, d = rows_in(game, state)
    after = pushed_to(game, action, a, b, c, d, transposed(a, b, c, d))
    if not after.changed:
        return Word(0), Word(0)
    return key_of(game, joined(game, *rows_after(game, action, after))), after.reward


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
    keys = np.zeros(len(rows), np.uint64)
    for i in range(len(rows)):
        keys[i] = key_of(game, joined(game, rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]))
    return keys


@compiled_loop
def values_of(keys: Words, values: Floats, begins: Ints, wanted: Words, ages: Ints) -> Floats:
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
    total, turns = 0, 2 if game.rows == game.columns else 1
    for key in keys:
        same, board = 0, key
        for _ in range(turns):
            for image in images_of(game, board):
                same += image == key
            board = transpose(game, board)
        total += 4 * turns // same
    return total


@compiled_loop
def afterstates_of(game: GameTables, states: Words) -> Words:
    """Return the keys of all afterstates of states, in any order and with repetitions."""
    keys, n = np.zeros(4 * len(states), np.uint64), 0
    for state in states:
        for action in range(ACTIONS_END):
            keys[n], _ = played(game, state, Word(action))
            n += keys[n] > 0
    return keys[:n]


@compiled_loop
def states_after(game: GameTables, afterstates: Words, tile: Word) -> Words:
    """Return the keys of all states that follow afterstates with a new tile, with repetitions."""
    cells = game.rows * game.columns
    keys, n = np.zeros(cells * len(afterstates), np.uint64), 0
    for afterstate in afterstates:
        possible = possible_cells(game, *rows_in(game, afterstate), tile)
        for cell in range(cells):
            if possible >> Word(cell) & ONE:
                keys[n] = key_of(game, afterstate | tile << Word(cell) * CELL)
                n += 1
    return keys[:n]


@compiled_loop
def expected_values(
    game: GameTables, afterstates: Words, tile: Word, states: Words, values: Floats
) -> Floats:
    """Return mean values `(n,)` of what follows afterstates, among rising state keys `(m,)`."""
    means = np.zeros(len(afterstates))
    for i in range(len(afterstates)):
        possible = possible_cells(game, *rows_in(game, afterstates[i]), tile)
        total, n = 0.0, 0
        for cell in range(game.rows * game.columns):
            if possible >> Word(cell) & ONE:
                key = key_of(game, afterstates[i] | tile << Word(cell) * CELL)
                total += values[find(states, 0, len(states), key)]
                n += 1
        means[i] = total / n
    return means


@compiled_loop
def best_values(
    game: GameTables, states: Words, afterstates: Words, values: Floats, weight: float
) -> Floats:
    """Return the values `(n,)` of states, `max over a (w r + V(s'))`, 0 where no action is legal.

    Their afterstates are among those given, `(m,)` rising keys and values; w is the weight, 0 or 1.
    """
    best = np.zeros(len(states))
    for i in range(len(states)):
        for action in range(ACTIONS_END):
            key, reward = played(game, states[i], Word(action))
            if key:
                value = values[find(afterstates, 0, len(afterstates), key)]
                best[i] = max(best[i], weight * float(reward) + value)
    return best
