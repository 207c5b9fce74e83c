"""Expectimax over the values of an n-tuple network, compiled; see `expectimax` for the definition.

Values of afterstates are kept in a transposition table (Zobrist 1970, Greenblatt et al. 1967 for
chess), from one move of a game to the next; it is emptied when the network has changed.
"""

import math
import sys
from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from baselines.ntuple.ntuple import NTuple
from baselines.pushes import possible_cells, pushed_to, rows_after
from baselines.search.leaves import Leaves, last_chance, leaves_of, promising
from tile_envs.base.compiled import HALF, ONE, Word, compiled_loop, mixed
from tile_envs.base.random_stream import Words
from tile_envs.game import Floats, Observations
from tile_envs.sliding.compiled import ACTIONS_END, count
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import CELL, Lines, placed, rows_of, transposed
from tile_envs.sliding.packed.tables import LINE_BITS

Order = Sequence[int]
LINE, TWO_LINES = Word(LINE_BITS), Word(2 * LINE_BITS)
BUCKET = 64  # the bytes of a bucket, which a processor fetches together: four entries
ENTRIES_END = Word(BUCKET // 8)
ALL = range(int(ACTIONS_END))  # the actions in their usual order
ALL_BITS = (ONE << ACTIONS_END) - ONE
RARE = 0.2  # tiles that are less likely are looked at less deeply, if the search is selective
CLOCK = 6 if sys.platform == "darwin" else 1  # the number of POSIX's clock that only runs forwards
_read_clock: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))


class CompiledSearch:
    """Searches boards one after the other, with a transposition table of its own."""

    version = 2

    def __init__(self, learner: NTuple, game: SlidingGame, table_bytes: int) -> None:
        self._learner, self._game, self._table_bytes = learner, game, table_bytes
        buckets = 1 << (table_bytes // BUCKET).bit_length() - 1
        entries = np.zeros((buckets, BUCKET // 8), np.uint64)
        self._table = Table(entries, entries.view(np.float32))
        self._weights_version = -1  # those that the leaves and the table are of
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # Everything else follows from these; a table changes no value.
        return type(self), (self._learner, self._game, self._table_bytes)

    def __call__(
        self,
        boards: Observations,
        depth: int,
        end: float = math.inf,
        order: Order = ALL,
        prunes: bool = False,
    ) -> Floats:
        learner = self._learner
        if depth == 1:
            return learner.action_values(boards)
        rows, actions, left = rows_of(self._game, boards), np.array(order, np.uint64), depth - 1
        with self._lock:  # its leaves and table are for one search at a time
            if self._weights_version != learner.weights_version:
                self._weights_version = learner.weights_version
                self._leaves = leaves_of(learner.network, learner.net, self._game)
                self._table.entries[:] = 0
            found = search(self._leaves, self._table, rows, Word(left), end, actions, prunes)
        return found.astype(np.float64)


@compiled_loop
def _now() -> float:
    """Return the seconds since some moment; numba itself knows no clock."""
    time = np.empty(2, np.int64)  # seconds, and nanoseconds
    _read_clock(CLOCK, time.ctypes.data)
    return float(time[0] + 1e-9 * time[1])


config: Any = numba.config
now: Callable[[], float] = monotonic if config.DISABLE_JIT else _now


class Table(NamedTuple):
    """A transposition table: afterstates that have been searched, in buckets."""

    # A new entry replaces the one of its bucket whose search looked at the fewest moves.
    # `(buckets, 8)`: for each entry a signature, the `mixed` afterstate with the depth of its
    # search, which hardly two of 2^32 afterstates share; then its value, with that depth in the
    # upper half.  0 is no entry.
    entries: Words
    values: NDArray[np.float32]  # `(buckets, 16)`, the same memory


@compiled_loop
def search(
    leaves: Leaves, table: Table, boards: Words, left: Word, end: float, order: Words, prunes: bool
) -> NDArray[np.float32]:
    """Return r + A(s', left) of the actions of boards, given by rows `(n, 4)`, left > 0.

    Values of illegal actions, of those not in `order`, and, if it prunes, of those that are not
    promising, are minus infinity; those that are not known at the time `end` are NaN.
    """
    game, values = leaves.net.game, np.full((len(boards), 4), -np.inf, np.float32)
    for i in range(len(boards)):
        rows = boards[i, 0], boards[i, 1], boards[i, 2], boards[i, 3]
        columns = transposed(*rows)
        chosen = promising(leaves, rows) if prunes else ALL_BITS
        for action in order:
            after = pushed_to(game, action, *rows, columns)
            if after.changed and chosen >> action & ONE:
                following = rows_after(game, action, after)
                if after.largest >= game.last_tile:
                    value = np.float32(0)  # the game is over
                elif left == ONE:  # it will hardly be asked for again
                    value = last_chance(leaves, following)
                else:
                    value = afterstate_value(leaves, table, following, left, end)
                values[i, action] = value + np.float32(after.reward)
    return values


@compiled_loop
def afterstate_value(
    leaves: Leaves, table: Table, rows: Lines, left: Word, end: float
) -> np.float32:
    """Return A(s', left) of an afterstate without the goal, left > 0; NaN after `end`."""
    game, columns, is_timed = leaves.net.game, transposed(*rows), end < np.inf
    if game.rows == game.columns and columns < rows:
        rows = columns  # of the same value
    a, b, c, d = rows
    signature = mixed((a | b << LINE | c << TWO_LINES) ^ mixed(d | left << LINE))
    bucket = signature & Word(len(table.entries) - 1)
    replaced, least = Word(0), ~Word(0)
    for entry in range(Word(0), ENTRIES_END, Word(2)):
        if table.entries[bucket, entry] == signature:
            return np.float32(table.values[bucket, 2 * entry + Word(2)])
        effort = table.entries[bucket, entry + ONE] >> HALF
        if effort < least:
            replaced, least = Word(entry), effort
    if left == ONE:
        value = last_chance(leaves, rows)
    else:
        expected, cells = np.float64(0), Word(0)
        for tile in range(len(game.tiles)):
            if tile == 0 or game.adversarial is not None:  # which chooses cells for each tile
                cells = possible_cells(game, *rows, game.tiles[tile])
            total, n = np.float64(0), left - ONE
            if is_timed and n > ONE and leaves.probabilities[tile] < RARE:
                n -= ONE
            for line in range(game.rows):
                for column in range(game.columns):
                    if not cells >> Word(line * game.columns + column) & ONE:
                        continue
                    if is_timed and now() > end:
                        return np.float32(np.nan)
                    cell = Word(line) << CELL | Word(column) * CELL
                    state = placed(*rows, cell, game.tiles[tile])
                    columns, highest = transposed(*state), np.float32(-np.inf)
                    chosen = promising(leaves, state) if is_timed else ALL_BITS
                    for direction in range(4):
                        action = Word(direction)
                        after = pushed_to(game, action, *state, columns)
                        if after.changed and chosen >> action & ONE:
                            best = np.float32(0)
                            if after.largest < game.last_tile:
                                next_rows = rows_after(game, action, after)
                                best = afterstate_value(leaves, table, next_rows, n, end)
                            if np.isnan(best):
                                return best
                            highest = max(highest, best + np.float32(after.reward))
                    if highest > -np.inf:
                        total += highest
            expected += leaves.probabilities[tile] * total / count(cells)
        value = np.float32(expected)
    table.entries[bucket, replaced] = signature
    table.entries[bucket, replaced + ONE] = left << HALF
    table.values[bucket, 2 * replaced + Word(2)] = value
    return value
