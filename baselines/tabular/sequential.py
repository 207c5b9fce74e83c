"""Q-learning in sliding games, compiled: what `qtable` does with one game at a time."""

import numpy as np

from baselines.pushes import following, pushed_to
from tile_envs.base.compiled import HALF, NEXT, ONE, Word, compiled, compiled_loop, mixed
from tile_envs.base.random_stream import Words
from tile_envs.game import Floats, Ints
from tile_envs.sliding.compiled import ACTIONS_END, member
from tile_envs.sliding.packed.kernels import CELL, CELL_IN_LINE, GameTables, line_of, transposed

Table = tuple[Floats, Ints, Words, Words, Word]
"""The values and visits of a `QTable`, `(boards, n_actions)`, which are changed in place; the
weights and actions of its `BoardCodes`; and the largest tile that has a number of its own."""
Number = tuple[Word, Word]  # the number of a board, and which of its images has it
Best = tuple[Word, float]
Rule = tuple[float, float, float, float, bool]
"""How games are played and learned from: ε, γ, α, its decay, and whether backwards."""


@compiled
def number_of(game: GameTables, table: Table, a: Word, b: Word, c: Word, d: Word) -> Number:
    _, _, weights, actions, largest = table
    number, image = Word(0), Word(0)
    for candidate in range(Word(len(actions))):
        image_number, cell = Word(0), Word(0)
        for row in range(game.rows):
            line = line_of(a, b, c, d, row)
            for _ in range(game.columns):
                image_number += min(line & CELL_IN_LINE, largest) * weights[cell, candidate]
                line >>= CELL
                cell += ONE
        if candidate == Word(0) or image_number < number:
            number, image = image_number, Word(candidate)
    return number, image


@compiled
def best_of(q: Floats, actions: Words, number: Word, image: Word, legal: Word) -> Best:
    """Return the legal action with the highest Q, the first of several, and its Q."""
    best, highest = ACTIONS_END, -np.inf
    for action in range(ACTIONS_END):
        value = q[number, actions[image, action]]
        if legal >> Word(action) & ONE and value > highest:
            best, highest = Word(action), value
    return best, highest


@compiled_loop
def learn_games(
    game: GameTables, table: Table, rule: Rule, boards: Words, positions: Words, explorers: Words
) -> tuple[Floats, int]:
    """Play games ε-greedily, learn from each at its end; return scores `(n,)` and all moves.

    Boards are rows `(n, 4)`; positions and explorers `(n,)` are those of the random streams of the
    games and of exploration.
    """
    (q, visits, _, actions, _), (epsilon, gamma, rate, decay, backwards) = table, rule
    scores, moves = np.zeros(len(boards)), 0
    path = np.zeros((1 << 10, 5), np.uint64)  # number, image, legal actions, action, reward
    below = Word(epsilon * 2.0**32)
    for n in range(len(boards)):
        a, b, c, d = boards[n, 0], boards[n, 1], boards[n, 2], boards[n, 3]
        position, explorer, length = positions[n], explorers[n], 0
        while True:
            columns, legal = transposed(a, b, c, d), Word(0)
            for each in range(ACTIONS_END):
                if pushed_to(game, Word(each), a, b, c, d, columns).changed:
                    legal |= ONE << Word(each)
            if legal == Word(0):
                break
            number, image = number_of(game, table, a, b, c, d)
            action, _ = best_of(q, actions, number, image, legal)
            explorer += NEXT
            if mixed(explorer) >> HALF < below:
                explorer += NEXT
                action = member(legal, mixed(explorer))
            after = pushed_to(game, action, a, b, c, d, columns)
            if length == len(path):
                path = np.concatenate((path, np.zeros_like(path)))
            path[length] = number, image, legal, actions[image, action], after.reward
            length += 1
            scores[n] += after.reward
            position += NEXT
            a, b, c, d = following(game, action, after, mixed(position))
        moves += length
        for step in range(length):
            i = length - 1 - step if backwards else step
            target = float(path[i, 4])
            if i + 1 < length:
                _, best = best_of(q, actions, path[i + 1, 0], path[i + 1, 1], path[i + 1, 2])
                target += gamma * best
            entry = path[i, 0], path[i, 3]
            visits[entry] += 1
            q[entry] += rate / visits[entry] ** decay * (target - q[entry])
    return scores, moves
