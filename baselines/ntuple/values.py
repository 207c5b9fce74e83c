"""The value of a board, compiled: its entries, their sum, and the best action by these sums.

A board is four packed lines, its rows or its columns; see `tile_envs.sliding.packed.kernels`.

An entry's number is itself a sum, over the pairs of neighbouring cells of a row, of what each pair
adds to it.  `Net.parts` holds that for every pair of tiles, for all tuples in all reflections side
by side.  One vector addition per pair then replaces shifts and masks, for any number of values of a
cell and any order of the entries.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.ntuple.network import Network, Weights
from baselines.ntuple.simd import add_up, round_up
from tile_envs.base.compiled import ONE, Word, compiled, compiled_loop
from tile_envs.base.random_stream import Words
from tile_envs.sliding.packed.kernels import (
    ACTIONS_END,
    LOW_BLOCK,
    TWO_CELLS,
    GameTables,
    Pushed,
    pushed_to,
    rows_after,
    transposed,
)
from tile_envs.sliding.packed.tables import CELL_BITS, CELL_MASK
from tile_envs.sliding.rules import Rules

Indices = NDArray[np.uint32]

REFLECTIONS = (False, False), (False, True), (True, False), (True, True)  # upside down, mirrored
PAIRS = 1 << 2 * CELL_BITS
Orientation = tuple[int, list[tuple[int, int]]]
"""Where the entries of a tuple begin, and the rows and columns of its cells."""
SECOND_HALF, ROW = Word(PAIRS), Word(2 * PAIRS)
"""Where the lines of `Net.parts` begin, those for the second half of a row and for the next row."""


class Stages(NamedTuple):
    """The stages of a network: each has weights of its own, one after the other.

    Attributes:
        faces: `(1024,) uint64`, by the two tiles on half a line: the sum of their faces.
        begins: `uint64`, the sums of a board's tiles at which the next stage begins, rising.
        size: The number of weights of a stage.
    """

    faces: Words
    begins: Words
    size: Word


class Net(NamedTuple):
    """A network as compiled loops take it.

    Attributes:
        parts: `(8 * 1024 * lanes,) uint32`, by half row, then by the two tiles on it: what they add
            to the entry number of each tuple in each reflection.
        lanes: The length of a line of `parts`: 4 numbers per tuple, filled up to whole vectors.
        used: The lanes in use, from 0 on.  The tuple's length carries their number at compile time.
        turns: 2 on a square board, whose lines are read as rows and then as columns; else 1.
        stages: Its stages.
        weights: `(entries * width,) float32`.
    """

    parts: Indices
    lanes: Word
    used: tuple[Word, ...]
    turns: int
    stages: Stages
    weights: Weights


def net_of(network: Network, rules: Rules, weights: Weights) -> Net:
    """Return a network for compiled loops, given its weights `(entries * width,)`."""
    used = len(REFLECTIONS) * len(network.tuples)
    faces = np.zeros(CELL_MASK + 1, np.uint64)
    faces[: len(rules.faces)] = rules.faces
    return Net(
        parts=parts_of(network, weights, orientations(network, turned=False)).reshape(-1),
        lanes=Word(round_up(used)),
        used=tuple(map(Word, range(used))),
        turns=network.per_board // used,
        stages=Stages(
            faces=np.add.outer(faces, faces).reshape(-1),
            begins=np.array(network.stages, np.uint64),
            size=Word(len(weights) // (1 + len(network.stages))),
        ),
        weights=weights,
    )


def orientations(network: Network, turned: bool) -> list[Orientation]:
    """Return all tuples in all reflections, of a board or, if `turned`, of its columns as rows."""
    n_rows, n_columns = network.shape
    lanes, begins = [], 0
    for cells in network.tuples:
        for upside_down, mirrored in REFLECTIONS:
            lane = []
            for row, column in (divmod(cell, n_columns) for cell in cells):
                row = n_rows - 1 - row if upside_down else row
                column = n_columns - 1 - column if mirrored else column
                lane.append((column, row) if turned else (row, column))
            lanes.append((begins, lane))
        begins += network.values ** len(cells)
    return lanes


def parts_of(network: Network, weights: Weights, lanes: Sequence[Orientation]) -> Indices:
    """Return what each pair of tiles adds to the entry number of each lane, `(4, 2, 1024, n)`."""
    width = len(weights) // network.entries
    pairs = np.arange(PAIRS)
    digits = np.minimum([pairs & CELL_MASK, pairs >> CELL_BITS], network.values - 1)
    parts = np.zeros((4, 2, PAIRS, round_up(len(lanes))), np.int64)
    for lane, (begins, cells) in enumerate(lanes):
        addends = _addends(network.values, len(cells)) * width
        parts[0, 0, :, lane] += begins * width
        for place, (row, column) in enumerate(cells):
            parts[row, column // 2, :, lane] += addends[digits[column % 2], place]
    return parts.astype(np.uint32)


def _addends(values: int, cells: int) -> NDArray[np.int64]:
    """Return what each value of each cell adds to an entry's number, `(values, cells)`.

    A value is written with one digit for each of its prime factors, and the lowest digits of all
    cells come first: 16 values are four bits, interleaved (Morton, 1966).  Entries that are used
    together, those of boards with the same large tiles, then share cache lines and memory pages,
    which makes play nearly twice as fast as the order cell after cell.
    """
    addends = np.zeros((values, cells), np.int64)
    rest, one = np.arange(values), 1
    for factor in _prime_factors(values):
        addends += (rest % factor)[:, None] * one * factor ** np.arange(cells)
        rest //= factor
        one *= factor**cells
    return addends


def lowered(network: Network, tile: int) -> Indices:
    """Return, by entry, that of the same cells with tiles from `tile` on one lower, `(size,)`."""
    digits = np.arange(network.values)
    entries, begins = [], 0
    for cells in map(len, network.tuples):
        addends = _addends(network.values, cells).astype(np.uint32)
        one_lower = addends[digits - (digits >= tile)]
        # The digits of a number, one axis each; sums over all of them.
        numbers, lower = (reduce(np.add.outer, kind.T).reshape(-1) for kind in (addends, one_lower))
        entries.append(np.empty_like(lower))
        entries[-1][numbers] = begins + lower
        begins += len(lower)
    return np.concatenate(entries)


def _prime_factors(n: int) -> tuple[int, ...]:
    smallest = next((factor for factor in range(2, n + 1) if n % factor == 0), None)
    return (smallest, *_prime_factors(n // smallest)) if smallest else ()


@compiled
def look_up(
    game: GameTables, net: Net, action: Word, after: Pushed, out: Indices, at: Word
) -> Word:
    """Write the indices of an afterstate's entries, and have these fetched from memory.

    `out` receives `turns * lanes` of them from `at` on.  Returns the number of the stage.
    """
    a, b, c, d = rows_after(game, action, after)
    stage = stage_of(net.stages, tiles_of(net.stages, a, b, c, d))
    look_up_rows(net, a, b, c, d, Word(0), stage, out, at)
    if game.square:
        a, b, c, d = transposed(a, b, c, d)
        look_up_rows(net, a, b, c, d, Word(0), stage, out, at + net.lanes)
    return stage


@compiled
def tiles_of(stages: Stages, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return the sum of the tiles of a board."""
    return tiles_on(stages, a) + tiles_on(stages, b) + tiles_on(stages, c) + tiles_on(stages, d)


@compiled
def tiles_on(stages: Stages, line: Word) -> Word:
    """Return the sum of the tiles on a line."""
    tiles: Word = stages.faces[line & LOW_BLOCK] + stages.faces[line >> TWO_CELLS]
    return tiles


@compiled
def stage_of(stages: Stages, tiles: Word) -> Word:
    """Return the number of the stage of a board, given the sum of its tiles."""
    stage = Word(0)
    for begin in stages.begins:
        stage += Word(tiles >= begin)
    return stage


@compiled
def look_up_rows(
    net: Net, a: Word, b: Word, c: Word, d: Word, first: Word, stage: Word, out: Indices, at: Word
) -> None:
    """Write the indices of a board's entries, by the lines of `parts` from `first` on."""
    rows = halves(a, first) + halves(b, first + ROW)
    others = halves(c, first + ROW + ROW) + halves(d, first + ROW + ROW + ROW)
    begin = stage * net.stages.size
    add_up(net.parts, rows + others, net.used, out, at, net.weights, begin)


@compiled
def halves(row: Word, first: Word) -> tuple[Word, Word]:
    """Return the numbers of the lines of `parts` for the halves of a row, its own from `first`."""
    return first + (row & LOW_BLOCK), first + SECOND_HALF + (row >> TWO_CELLS)


@compiled
def sum_up(net: Net, indices: Indices, at: Word, stage: Word) -> np.float32:
    """Return the sum of a board's entries, as `look_up` has written them from `at` on.

    The order of additions is fixed.
    """
    # Four sums at a time: one would wait for the end of each addition.
    first = second = third = fourth = np.float32(0)
    stage *= net.stages.size
    for turn in range(net.turns):
        begin = at + Word(turn) * net.lanes
        for lane in range(begin, begin + Word(len(net.used)), Word(4)):
            first += net.weights[stage + indices[lane]]
            second += net.weights[stage + indices[lane + Word(1)]]
            third += net.weights[stage + indices[lane + Word(2)]]
            fourth += net.weights[stage + indices[lane + Word(3)]]
    return (first + second) + (third + fourth)


@compiled
def best_move(
    game: GameTables, net: Net, a: Word, b: Word, c: Word, d: Word, indices: Indices, at: Word
) -> tuple[Word, Pushed, np.float32, Word, Word]:
    """Choose the action with the highest r + V(s'), the first of several.

    All afterstates are looked up before any is summed up, so that the waits for memory overlap;
    `indices` has room for four of them (see `room_for`) from `at` on.

    Returns:
        The best action (4 if none is legal), its afterstate, V(s'), where the afterstate's indices
        begin, and its stage.
    """
    columns = transposed(a, b, c, d)
    entries, room = Word(net.turns) * net.lanes, room_for(net, Word(1))
    legal = Word(0)
    action = Word(0)
    while action < ACTIONS_END:
        after = pushed_to(game, action, a, b, c, d, columns)
        if after.changed:
            legal |= ONE << action
            place = at + action * room
            indices[place + entries] = after.reward
            indices[place + entries + ONE] = look_up(game, net, action, after, indices, place)
        action += ONE
    best, best_stage, value, highest = ACTIONS_END, Word(0), np.float32(0), np.float32(-np.inf)
    action = Word(0)
    while action < ACTIONS_END:
        if legal >> action & ONE:
            place = at + action * room
            reward, stage = indices[place + entries], indices[place + entries + ONE]
            after_value = sum_up(net, indices, place, Word(stage))
            if after_value + np.float32(reward) > highest:
                best, best_stage = action, Word(stage)
                value, highest = after_value, after_value + np.float32(reward)
        action += ONE
    chosen = pushed_to(game, best & Word(3), a, b, c, d, columns)
    return best, chosen, value, at + best * room, best_stage


@compiled
def room_for(net: Net, afterstates: Word) -> Word:
    """Return the room for afterstates in `best_move`: indices, and for each reward and stage."""
    return afterstates * (Word(net.turns) * net.lanes + Word(2))


@compiled_loop
def action_values(game: GameTables, net: Net, rows: Words) -> NDArray[np.float32]:
    """Return r + V(s') of each action, `(n, 4)`, on boards `(n, 4)`; minus infinity if illegal."""
    values = np.full((len(rows), 4), -np.inf, np.float32)
    indices = np.zeros(room_for(net, ONE), np.uint32)
    for i in range(len(rows)):
        a, b, c, d = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]
        columns = transposed(a, b, c, d)
        for direction in range(4):
            action = Word(direction)
            after = pushed_to(game, action, a, b, c, d, columns)
            if after.changed:
                stage = look_up(game, net, action, after, indices, Word(0))
                value = sum_up(net, indices, Word(0), stage)
                values[i, direction] = value + np.float32(after.reward)
    return values
