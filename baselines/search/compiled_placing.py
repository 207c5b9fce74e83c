"""Placing tiles against an n-tuple network, compiled; see `placing` for the definition.

Min, max and chance nodes alternate.  They are pruned by alpha and beta, which pass through chance
nodes as in Star1 (Ballard, "The *-minimax search procedure for trees containing chance nodes",
Artificial Intelligence, 1983): bounds of all values say how much the tiles that have not been
looked at can still change.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.ntuple.entries import Indices, Net
from baselines.ntuple.moves import room_for, rows_after, value_of
from baselines.ntuple.ntuple import NTuple
from tile_envs.base.compiled import ONE, Word, compiled, compiled_loop
from tile_envs.base.random_stream import Words
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.kernels import (
    ACTIONS_END,
    CELL,
    CELL_IN_LINE,
    GameTables,
    game_tables,
    line_of,
    placed,
    pushed_to,
    rows_of,
    transposed,
)
from tile_envs.sliding.placer import RANDOM
from tile_envs.sliding.tables import CELL_MASK

Boards = NDArray[np.uint8]
Tiles = NDArray[np.int64]


class CompiledPlacing:
    """Searches boards one after the other.

    Args:
        learner: The agent whose values are minimised.
        game: The game.
        depth: The number of the player's moves that are looked at.

    Raises:
        ValueError: If the network is that of another game.
    """

    def __init__(self, learner: NTuple, game: SlidingGame, depth: int) -> None:
        learner.check_plays(game)
        self._game, self._net = game, learner.net
        self._tables = game_tables(replace(game, placer=RANDOM))
        self._depth, self._bounds = depth, bounds_of(learner, depth)

    def __call__(self, boards: Boards, tiles: Tiles) -> Tiles:
        """Return the worst cells `(n,)` for tiles `(n,)` on afterstates `(n, R, C)`."""
        rows, words = rows_of(self._game, boards), tiles.astype(np.uint64)
        return worst(self._tables, self._net, self._bounds, rows, words, self._depth)


class Bounds(NamedTuple):
    """What all values of a search lie between.

    Attributes:
        low: The lower bound.
        high: `(32,) float64`, the upper bound, by the largest tile's index on the first board.
    """

    low: float
    high: NDArray[np.float64]


def bounds_of(learner: NTuple, depth: int) -> Bounds:
    """Return the bounds of a search: of the network's values, and of `depth` rewards."""
    network = learner.network
    weights = learner.weights.reshape(-1, network.size)
    ends = np.cumsum([network.values ** len(cells) for cells in network.tuples])
    parts = np.split(weights, ends[:-1], axis=1)
    images = network.per_board // len(network.tuples)
    low = images * sum(float(part.min()) for part in parts)
    high = images * sum(float(part.max()) for part in parts)
    rules, cells = learner.game.rules, math.prod(learner.game.shape)
    tallest = np.arange(CELL_MASK + 1)  # by the largest tile, what merges make of it
    step = tallest.copy()
    for a, b, c in rules.merges:
        step[max(a, b) :] = np.maximum(step[max(a, b) :], c)
    for _ in range(depth):
        tallest = step[tallest]
    faces = np.zeros(CELL_MASK + 1)
    faces[: len(rules.faces)] = rules.faces
    rewards = depth * (cells // 2) * faces[tallest]
    return Bounds(min(0.0, low), max(0.0, high) + rewards)


@compiled_loop
def worst(
    game: GameTables, net: Net, bounds: Bounds, rows: Words, tiles: Words, depth: int
) -> Tiles:
    """Return the worst cells for new tiles.

    Args:
        game: The game.
        net: The network.
        bounds: The bounds of the search.
        rows: The afterstates, `(n, 4)`.
        tiles: The new tiles, `(n,)`.
        depth: The number of the player's moves that are looked at.

    Returns:
        `(n,)`, in reading order.
    """
    cells = np.zeros(len(rows), np.int64)
    indices = np.zeros(room_for(net, ONE), np.uint32)
    for i in range(len(rows)):
        a, b, c, d = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]
        low, high = bounds.low, bounds.high[largest(a, b, c, d, tiles[i])]
        best = np.inf
        for row in range(game.rows):
            for column in range(game.columns):
                if line_of(a, b, c, d, row) >> Word(column) * CELL & CELL_IN_LINE:
                    continue
                cell = Word(row) << CELL | Word(column) * CELL
                e, f, g, h = placed(a, b, c, d, cell, tiles[i])
                value = state_value(game, net, low, high, e, f, g, h, depth, -np.inf, best, indices)
                if value < best:
                    best, cells[i] = value, row * game.columns + column
    return cells


@compiled_loop
def state_value(
    game: GameTables,
    net: Net,
    low: float,
    high: float,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    depth: int,
    alpha: float,
    beta: float,
    indices: Indices,
) -> float:
    """Return W(s, depth) of a state, given by its rows, if it lies between alpha and beta.

    Otherwise it is a bound of it: at most alpha, or at least beta.
    """
    best, legal = -np.inf, False
    columns = transposed(a, b, c, d)
    for direction in range(ACTIONS_END):
        action = Word(direction)
        after = pushed_to(game, action, a, b, c, d, columns)
        if not after.changed:
            continue
        legal = True
        if depth == 1:
            value = np.float64(
                value_of(game, net, action, after, indices) + np.float32(after.reward)
            )
        else:
            reward = np.float64(after.reward)
            e, f, g, h = rows_after(game, action, after)
            alpha_here, beta_here = max(alpha, best) - reward, beta - reward
            value, rest = reward, 1.0
            for i in range(len(game.tiles)):
                # What this tile must be worth for the whole to lie between alpha and beta.
                share = game.probabilities[i]
                rest = max(0.0, rest - share)
                known = value - reward
                least = (alpha_here - known - rest * high) / share
                most = (beta_here - known - rest * low) / share
                lowest = np.inf
                for line in range(game.rows):
                    for place in range(game.columns):
                        if line_of(e, f, g, h, line) >> Word(place) * CELL & CELL_IN_LINE:
                            continue
                        cell = Word(line) << CELL | Word(place) * CELL
                        p, q, r, s = placed(e, f, g, h, cell, game.tiles[i])
                        if lowest > least:
                            until = min(lowest, most)
                            below = state_value(
                                game, net, low, high, p, q, r, s, depth - 1, least, until, indices
                            )
                            lowest = min(lowest, below)
                value += share * lowest
                if lowest <= least:
                    value += rest * high
                    break
                if lowest >= most:
                    value += rest * low
                    break
        best = max(best, value)
        if best >= beta:
            break
    return best if legal else 0.0


@compiled
def largest(a: Word, b: Word, c: Word, d: Word, tile: Word) -> Word:
    """Return the index of the largest tile among four lines and another tile."""
    highest = tile
    for i in range(4):
        line = line_of(a, b, c, d, i)
        while line:
            highest = max(highest, line & CELL_IN_LINE)
            line >>= CELL
    return highest
