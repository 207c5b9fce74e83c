"""Expectimax over the values of an n-tuple network, compiled; see `expectimax` for the definition.

Values of afterstates are kept in a transposition table (Zobrist 1970, Greenblatt et al. 1967 for
chess), from one move of a game to the next; it is emptied when the network has changed.
"""

import math
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from baselines.ntuple.ntuple import NTuple
from baselines.ntuple.values import look_up_rows, stage_of, sum_up, tiles_of
from baselines.pushes import possible_cells, pushed_to, rows_after
from baselines.search.clock import now
from baselines.search.leaves import VECTOR, Leaves, last_chance, leaves_of
from tile_envs.base.compiled import HALF, ONE, Word, compiled, compiled_loop, mixed
from tile_envs.base.random_stream import Words
from tile_envs.game import Floats, Ints, Observations
from tile_envs.sliding.compiled import ACTIONS_END, count
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import CELL, Lines, placed, rows_of, transposed
from tile_envs.sliding.packed.tables import LINE_BITS

LINE, TWO_LINES = Word(LINE_BITS), Word(2 * LINE_BITS)
BUCKET = 64  # the bytes of a bucket, which a processor fetches together: four entries
ENTRIES_END = Word(BUCKET // 8)
ALL = np.arange(4)  # the actions in their usual order
RARE, MARGIN = 0.2, np.float32(0.6)  # of selective search: see `expectimax`


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

    def __call__(self, boards: Observations, depth: int) -> Floats:
        if depth == 1:
            return self._learner.action_values(boards)
        with self._lock:  # its leaves and table are for one search at a time
            return search(*self._current(), rows_of(self._game, boards), depth, math.inf, ALL)

    def deepened(self, boards: Observations, deepest: int, seconds: float) -> Floats:
        """Search boards one by one, each for so many seconds; see `deepening`."""
        rows, values = rows_of(self._game, boards), self(boards, 1)
        with self._lock:
            return search_for(*self._current(), rows, values, deepest, seconds)

    def _current(self) -> tuple[Leaves, "Table"]:
        """Return the network of now, and no values of the one before."""
        if self._weights_version != (learner := self._learner).weights_version:
            self._weights_version = learner.weights_version
            self._leaves = leaves_of(learner.network, learner.net.weights, self._game)
            self._table.entries[:] = 0
        return self._leaves, self._table


class Table(NamedTuple):
    """A transposition table: afterstates that have been searched, in buckets."""

    # `(buckets, 8)`: of each entry a signature, the `mixed` afterstate with its search's depth,
    # which hardly two of 2^32 share; then its value, with that depth in the upper half.  0 is none.
    # A new entry replaces the one of its bucket whose search looked at the fewest moves.
    entries: Words
    values: NDArray[np.float32]  # `(buckets, 16)`, the same memory


@compiled_loop
def search(
    leaves: Leaves, table: Table, boards: Words, depth: int, end: float, order: Ints
) -> Floats:
    """Return r + A(s', depth - 1) of the actions of boards, by rows `(n, 4)`, depth > 1.

    Values of illegal actions, and of those not in `order`, are minus infinity; those that are not
    known at the time `end` are NaN.
    """
    game, left, values = leaves.net.game, Word(depth - 1), np.full((len(boards), 4), -np.inf)
    for i in range(len(boards)):
        rows = boards[i, 0], boards[i, 1], boards[i, 2], boards[i, 3]
        columns = transposed(*rows)
        for number in order:
            action = Word(number)
            after = pushed_to(game, action, *rows, columns)
            if after.changed:
                following = rows_after(game, action, after)
                if after.largest >= game.last_tile:
                    value = np.float32(0)  # the game is over
                else:
                    value = afterstate_value(leaves, table, following, left, end)
                values[i, action] = value + np.float32(after.reward)
    return values


@compiled
def promising(leaves: Leaves, rows: Lines) -> Word:
    """Return, as bits, the actions whose r + V(s') is at most `MARGIN` of the highest below it."""
    net, wide, columns = leaves.net, leaves.net.lanes + VECTOR, transposed(*rows)
    values, stages, best, chosen = leaves.rewards, leaves.lines, np.float32(-np.inf), Word(0)
    for direction in range(ACTIONS_END):
        action = Word(direction)
        after, values[action] = pushed_to(net.game, action, *rows, columns), -np.inf
        if after.changed:
            following, values[action] = rows_after(net.game, action, after), after.reward
            stage = stages[action, 0] = stage_of(net, tiles_of(net, following))
            look_up_rows(net, following, Word(0), stage, leaves.sums, action * wide)
    for direction in range(ACTIONS_END):
        action = Word(direction)
        if values[action] > -np.inf:
            values[action] += sum_up(net, leaves.sums, action * wide, stages[action, 0])
            best = max(best, values[action])
    for direction in range(ACTIONS_END):
        action = Word(direction)
        chosen |= Word(values[action] >= best - abs(best) * MARGIN) << action
    return chosen


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
            is_rare = is_timed and leaves.probabilities[tile] < RARE
            total, n = np.float64(0), max(left - ONE - Word(is_rare), ONE)
            for line in range(game.rows):
                for column in range(game.columns):
                    if not cells >> Word(line * game.columns + column) & ONE:
                        continue
                    if is_timed and now() > end:
                        return np.float32(np.nan)
                    cell = Word(line) << CELL | Word(column) * CELL
                    state = placed(*rows, cell, game.tiles[tile])
                    columns, highest = transposed(*state), np.float32(-np.inf)
                    chosen = promising(leaves, state) if is_timed else ~Word(0)
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


def deepening(search: Callable[..., Floats]) -> Callable[..., Floats]:
    """Return a function that searches a board, in the form `node` that `search` takes, in time.

    It looks deeper and deeper, as long as there is a choice, and time for two actions.  `values`
    `(4,)` are the action values without a search.  Only actions within 2·(max - min) of the last
    depth's changes are searched deeper; all others, and those not searched in time, are shifted by
    the change of the best of these.
    """

    def deepened(node: Any, deepest: int, end: float, values: Floats) -> Floats:
        values, least = values.copy(), -np.inf
        last, growth = 0.0, 8.0  # an action takes `growth` times as long with a move more
        for depth in range(2, deepest + 1):
            order = np.argsort(-values)
            order = order[values[order] > least]
            began = now()
            if len(order) < 2 or began + 2 * last * growth > end:
                break
            found = search(*node, depth, end, order)[0]
            taken = (now() - began) / len(order)
            if depth > 2:  # the first two are too short to tell
                growth = max(2.0, taken / last)
            last = taken
            known = order[~np.isnan(found[order])]
            changes = found[known] - values[known]
            if len(known):
                values += changes[0]
                values[known] = found[known]
            if len(known) < len(order):
                break
            least = values.max() - 2 * (changes.max() - changes.min())
        return values

    return deepened


_deepened = register_jitable(deepening(search))


@compiled_loop
def search_for(
    leaves: Leaves, table: Table, boards: Words, values: Floats, deepest: int, seconds: float
) -> Floats:
    """Search boards, given by rows `(n, 4)`, each for some seconds, from their values `(n, 4)`."""
    for i in range(len(boards)):
        node = leaves, table, boards[i : i + 1]
        values[i] = _deepened(node, deepest, now() + seconds, values[i])
    return values
