"""Expectimax: a value made deeper by looking at every move and every new tile, exactly weighted.

A search of depth p looks at p moves of the player, with all that chance may do between them: depth
1 is the greedy player on afterstates, depth 2 is max, chance, max.  The value of an afterstate with
q moves to look at is

    A(s, 0) = V(s),    A(s, q) = Σ P(tile) / (empty cells) · max over moves (r + A(s', q - 1)),

0 where no move is left.  What has been searched is remembered in a table (Zobrist 1970, Greenblatt
et al. 1967 for chess), which stays valid for as long as the values do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.agent import Observations, ValueAgent
from baselines.kernels import (
    ACTIONS_END,
    CELL,
    CELL_OF_HOLE,
    ONE,
    Game,
    Word,
    compiled_loop,
    mixed,
    placed,
    rows_of,
    transposed,
)
from baselines.ntuple.learning import NTuple, best_move, pushed_to, rows_after, value_of
from baselines.ntuple.network import Indices, Net
from tile_envs.checks import checked_count
from tile_envs.random_stream import Words
from tile_envs.sliding.tables import CELLS, LINE_BITS

DEEPEST = 100
LINE, TWO_LINES = Word(LINE_BITS), Word(2 * LINE_BITS)


class Memory(NamedTuple):
    """What has been searched; a new entry takes the place of an old one.

    Attributes:
        boards: `(size, 2) uint64`, an afterstate's rows and the moves that were looked at; 0 is
            none.
        values: `(size,) float32`, what it is worth.
    """

    boards: Words
    values: NDArray[np.float32]


class Expectimax(ValueAgent):
    """Searches with the values of an n-tuple network.

    Args:
        learner: Whose values and game.
        depth: How many moves of the player are looked at, at least 1.
        deeper: Depths for boards with few empty cells: `{3: 4}` looks at 4 moves where at most 3
            cells are empty.
        milliseconds: If given, each move deepens its search from 1 on, up to `depth`, for as long
            as the next depth is expected to end within so many milliseconds.
        memory_bits: The table has 2 to this power of entries, 20 bytes each, for each thread.
        threads: How many boards are searched at once.

    Raises:
        ValueError: If a number is outside its range.
    """

    def __init__(
        self,
        learner: NTuple,
        depth: int = 2,
        deeper: Mapping[int, int] | None = None,
        milliseconds: float | None = None,
        memory_bits: int = 20,
        threads: int = 1,
    ) -> None:
        if milliseconds is not None and not 0 < milliseconds < math.inf:
            raise ValueError(f"milliseconds must be above 0 and finite, got {milliseconds!r}.")
        if not 1 <= memory_bits <= 30:
            raise ValueError(f"memory_bits must be from 1 to 30, got {memory_bits!r}.")
        self._depths = np.full(CELLS + 1, _checked_depth(depth))
        for empty, at_depth in sorted((deeper or {}).items(), key=lambda pair: -int(pair[0])):
            if not 0 <= int(empty) <= CELLS:
                raise ValueError(f"a board has 0 to {CELLS} empty cells, got {empty!r}.")
            self._depths[: int(empty) + 1] = _checked_depth(at_depth)
        self._milliseconds = milliseconds
        self._learner = learner
        size = 1 << memory_bits
        self._memories = [
            Memory(np.zeros((size, 2), np.uint64), np.zeros(size, np.float32))
            for _ in range(checked_count(threads, "threads"))
        ]
        self._pool = ThreadPoolExecutor(threads)

    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return what each action is worth, reward included, `(n, 4)`; minus infinity if illegal.

        Raises:
            ValueError: If these are not boards of the game and shape.
        """
        rows = rows_of(self._learner.env, observations)
        empty = (np.asarray(observations) == 0).sum(axis=(1, 2))
        depths = self._depths[empty]
        n = len(self._memories)
        parts = zip(np.array_split(rows, n), np.array_split(depths, n), strict=True)
        values = self._pool.map(self._search, self._memories, *zip(*parts, strict=True))
        return np.concatenate(list(values)).astype(np.float64)

    def _search(
        self, memory: Memory, rows: Words, depths: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        game, net = self._learner.game, self._learner.net
        if self._milliseconds is None:
            return search(game, net, memory, rows, depths)
        found = []
        for row, deepest in zip(rows[:, None], depths, strict=True):
            found.append(self._search_in_time(memory, row, int(deepest), self._milliseconds))
        return np.concatenate(found) if found else np.zeros((0, 4), np.float32)

    def _search_in_time(
        self, memory: Memory, row: Words, deepest: int, milliseconds: float
    ) -> NDArray[np.float32]:
        """Search one board deeper and deeper, `(1, 4) uint64`, for as long as there is time."""
        game, net = self._learner.game, self._learner.net
        end = time.perf_counter() + milliseconds / 1000
        last, growth = 0.0, 15.0  # how much longer the next depth takes, until that is known
        values = np.zeros((1, 4), np.float32)
        for depth in range(1, deepest + 1):
            began = time.perf_counter()
            if depth > 1 and began + last * growth > end:
                break
            values = search(game, net, memory, row, np.array([depth]))
            taken = time.perf_counter() - began
            if depth > 2:  # the first two are too short to tell
                growth = max(2.0, taken / last)
            last = taken
        return values


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
    indices = np.zeros(Word(4) * Word(net.turns) * net.lanes, np.uint32)
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
                best = np.float32(0)
                if left == ONE:
                    action, after, value, _ = best_move(game, net, e, f, g, h, indices, Word(0))
                    if action < ACTIONS_END:
                        best = value + np.float32(after.reward)
                else:
                    columns = transposed(e, f, g, h)
                    highest = np.float32(-np.inf)
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
                        best = highest
                total += game.probabilities[i] * best
    value = np.float32(total / empty)
    memory.boards[place, 0], memory.boards[place, 1] = first, second
    memory.values[place] = value
    return value


def _checked_depth(depth: int) -> int:
    if isinstance(depth, bool) or depth != int(depth) or not 1 <= depth <= DEEPEST:
        raise ValueError(f"a search looks at 1 to {DEEPEST} moves, got {depth!r}.")
    return int(depth)
