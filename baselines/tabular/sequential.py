"""Q-learning in sliding games, compiled: one game after the other, each learned from at its end.

It is what `qtable` does with one game at a time, without waiting for numpy at every move.
"""

from typing import NamedTuple

import numpy as np

from tile_envs.base.compiled import HALF, NEXT, ONE, Word, compiled, compiled_loop, mixed
from tile_envs.base.random_stream import Words
from tile_envs.game import Floats, Ints
from tile_envs.sliding.packed.kernels import (
    ACTIONS_END,
    CELL,
    CELL_IN_LINE,
    GameTables,
    count,
    following,
    line_of,
    pushed_to,
    transposed,
)


class Table(NamedTuple):
    """A Q-table as compiled loops take it: see `QTable` and `BoardCodes`.

    The values and their visits, `(boards, n_actions)`, are changed in place; `largest` is the
    largest tile that has a number of its own.
    """

    q: Floats
    visits: Ints
    weights: Words
    actions: Words
    largest: Word


Rule = tuple[float, float, float, float, bool]
"""How games are played and learned from: ε, γ, α, its decay, and whether backwards."""


@compiled
def number_of(
    game: GameTables, table: Table, a: Word, b: Word, c: Word, d: Word
) -> tuple[Word, Word]:
    """Return the number of a board, and the image that has it; see `BoardCodes.of`."""
    number, image = Word(0), Word(0)
    for candidate in range(Word(len(table.actions))):
        image_number, cell = Word(0), Word(0)
        for row in range(game.rows):
            line = line_of(a, b, c, d, row)
            for _ in range(game.columns):
                tile = min(line & CELL_IN_LINE, table.largest)
                image_number += tile * table.weights[cell, candidate]
                line >>= CELL
                cell += ONE
        if candidate == Word(0) or image_number < number:
            number, image = image_number, Word(candidate)
    return number, image


@compiled
def best_of(table: Table, number: Word, image: Word, legal: Word) -> tuple[Word, float]:
    """Return the legal action with the highest Q, the first of several, and its Q."""
    best, highest = ACTIONS_END, -np.inf
    for action in range(ACTIONS_END):
        if legal >> action & ONE:
            value = table.q[number, table.actions[image, action]]
            if value > highest:
                best, highest = action, value
    return best, highest


@compiled
def draw(legal: Word, word: Word) -> Word:
    """Return the legal action that a random word picks."""
    for _ in range((word >> HALF) * count(legal) >> HALF):
        legal &= legal - ONE
    return count((legal & ~legal + ONE) - ONE)  # the lowest that is left


@compiled_loop
def learn_games(
    game: GameTables, table: Table, rule: Rule, boards: Words, positions: Words, explorers: Words
) -> tuple[Floats, int]:
    """Play games ε-greedily, learn from each at its end; return scores `(n,)` and all moves.

    Boards are rows `(n, 4)`; positions `(n,)` are those of the games' random streams, and explorers
    `(n,)` those of the streams that exploration is drawn from.
    """
    epsilon, gamma, rate, decay, backwards = rule
    scores, moves = np.zeros(len(boards)), 0
    path = np.zeros((1 << 10, 5), np.uint64)  # number, image, legal actions, action, reward
    below = Word(epsilon * 2.0**32)
    for n in range(len(boards)):
        a, b, c, d = boards[n, 0], boards[n, 1], boards[n, 2], boards[n, 3]
        position, explorer, length = positions[n], explorers[n], 0
        while True:
            columns, legal = transposed(a, b, c, d), Word(0)
            for action in range(ACTIONS_END):
                if pushed_to(game, action, a, b, c, d, columns).changed:
                    legal |= ONE << action
            if legal == Word(0):
                break
            number, image = number_of(game, table, a, b, c, d)
            action, _ = best_of(table, number, image, legal)
            explorer += NEXT
            if mixed(explorer) >> HALF < below:
                explorer += NEXT
                action = draw(legal, mixed(explorer))
            after = pushed_to(game, action, a, b, c, d, columns)
            if length == len(path):
                path = np.concatenate((path, np.zeros_like(path)))
            path[length, 0], path[length, 1], path[length, 2] = number, image, legal
            path[length, 3], path[length, 4] = table.actions[image, action], after.reward
            length += 1
            scores[n] += after.reward
            position += NEXT
            a, b, c, d = following(game, action, after, mixed(position))
        moves += length
        for step in range(length):
            i = length - 1 - step if backwards else step
            target = float(path[i, 4])
            if i + 1 < length:
                _, best = best_of(table, path[i + 1, 0], path[i + 1, 1], path[i + 1, 2])
                target += gamma * best
            entry = path[i, 0], path[i, 3]
            table.visits[entry] += 1
            table.q[entry] += rate / table.visits[entry] ** decay * (target - table.q[entry])
    return scores, moves
