"""Expectimax over the values of an n-tuple network, compiled: see `expectimax` for what it finds.

What has been searched is remembered in a table (Zobrist 1970, Greenblatt et al. 1967 for chess),
which stays valid for as long as the values do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.agent import Observations
from baselines.kernels import (
    ACTIONS_END,
    CELL,
    CELL_OF_HOLE,
    ONE,
    Game,
    Word,
    compiled_loop,
    game_of,
    mixed,
    placed,
    rows_of,
    transposed,
)
from baselines.ntuple.learning import NTuple, best_move, pushed_to, room_for, rows_after, value_of
from baselines.ntuple.network import Indices, Net
from tile_envs.random_stream import Words
from tile_envs.sliding.env import SlidingEnv
from tile_envs.sliding.tables import LINE_BITS

LINE, TWO_LINES = Word(LINE_BITS), Word(2 * LINE_BITS)


class CompiledSearch:
    """Searches boards one after the other, with a memory of its own.

    Args:
        learner: Whose values.
        env: The game.
        memory_bits: The memory has 2 to this power of entries, 20 bytes each.

    Raises:
        ValueError: If the network is one for another game.
    """

    def __init__(self, learner: NTuple, env: SlidingEnv, memory_bits: int) -> None:
        if (learner.network.game, learner.network.shape) != (env.rules.name, env.shape):
            raise ValueError(
                f"the network is for {learner.network}, not for {env.rules.name} on {env.shape}."
            )
        self._env, self._game, self._net = env, game_of(env), learner.net
        size = 1 << memory_bits
        self._memory = Memory(np.zeros((size, 2), np.uint64), np.zeros(size, np.float32))

    def __call__(self, boards: Observations, depths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what each action is worth, looking at so many moves `(n,)`; see `Expectimax`."""
        rows = rows_of(self._env, boards)
        return search(self._game, self._net, self._memory, rows, depths).astype(np.float64)


class Memory(NamedTuple):
    """What has been searched; a new entry takes the place of an old one.

    Attributes:
        boards: `(size, 2) uint64`, an afterstate's rows and the moves that were looked at; 0 is
            none.
        values: `(size,) float32`, what it is worth.
    """

    boards: Words
    values: NDArray[np.float32]


@compiled_loop
def search(
    game: Game, net: Net, memory: Memory, rows: Words, depths: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return what each action is worth on boards.

    Args:
        game: The game.
        net: The network.
        memory: What has been searched with it before; added to.
        rows: `(n, 4)`.
        depths: `(n,)`, at least 1.

    Returns:
        `(n, 4)`, reward included; minus infinity if illegal.
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
                    value = afterstate_value(game, net, memory, e, f, g, h, left, indices)
                values[i, direction] = np.float32(after.reward) + value
    return values


@compiled_loop
def afterstate_value(
    game: Game,
    net: Net,
    memory: Memory,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    left: Word,
    indices: Indices,
) -> np.float32:
    """Return A(s, left) of an afterstate, given by its rows, `left` at least 1; see the module."""
    first = a | b << LINE | c << TWO_LINES
    second = d | left << LINE
    place = mixed(first ^ mixed(second)) & Word(len(memory.values) - 1)
    if memory.boards[place, 0] == first and memory.boards[place, 1] == second:
        return np.float32(memory.values[place])
    total, empty = np.float64(0), 0
    for line in range(game.rows):
        row = a if line == 0 else b if line == 1 else c if line == 2 else d
        for column in range(game.columns):
            shift = Word(column) * CELL
            if row >> shift & CELL_OF_HOLE:
                continue
            empty += 1
            hole = Word(line) << CELL | shift
            for i in range(len(game.tiles)):
                e, f, g, h = placed(a, b, c, d, hole, game.tiles[i])
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
                                game, net, memory, p, q, r, s, left - ONE, indices
                            )
                            highest = max(highest, value + np.float32(after.reward))
                if highest > -np.inf:
                    total += game.probabilities[i] * highest
    value = np.float32(total / empty)
    memory.boards[place, 0], memory.boards[place, 1] = first, second
    memory.values[place] = value
    return value
