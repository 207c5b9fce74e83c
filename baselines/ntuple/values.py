"""The value of a board, compiled: its entries, their sum, and the best action by these sums.

A board is four packed lines, its rows or its columns; see `tile_envs.sliding.packed.kernels`.  The
index of an entry is a sum of contributions, one per pair of adjacent cells of a row.  `Net.parts`
holds them for every pair of tiles, for all tuples in all reflections side by side: one vector
addition per pair adds them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from baselines.ntuple.network import Indices, Network, Weights, addends
from baselines.ntuple.simd import LANES, add_up, round_up
from baselines.pushes import pushed_to, rows_after
from tile_envs.base.compiled import ONE, Word, compiled, compiled_loop
from tile_envs.base.random_stream import Words
from tile_envs.sliding.compiled import ACTIONS_END
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import (
    LOW_BLOCK,
    TWO_CELLS,
    GameTables,
    Lines,
    Pushed,
    game_tables,
    transposed,
)
from tile_envs.sliding.packed.tables import CELL_BITS, CELL_MASK

REFLECTIONS = (False, False), (False, True), (True, False), (True, True)  # upside down, mirrored
PAIRS = 1 << 2 * CELL_BITS
Orientation = tuple[int, list[int], list[int]]
"""Where the entries of a tuple begin, and the rows and columns of its cells."""
SECOND_HALF, ROW = Word(PAIRS), Word(2 * PAIRS)
"""Where the lines of `Net.parts` begin, those for the second half of a row and for the next row."""


class Net(NamedTuple):
    """A network and the game that it plays, as compiled loops take them."""

    game: GameTables
    # `(8 * 1024 * lanes,)`, by half row, then by the two tiles on it: what they add to the index of
    # each tuple in each reflection.
    parts: Indices
    lanes: Word  # the length of a line of `parts`: 4 numbers per tuple, filled up to whole vectors
    used: tuple[Word, ...]  # those in use; its length carries their number at compile time
    turns: int  # 2 on a square board, whose lines are read as rows and then as columns; else 1
    faces: Words  # `(1024,)`, by the two tiles on half a line: the sum of the large ones' faces
    stages: Words  # the sums of a board's large tiles at which the next stage begins, rising
    stage_size: Word  # the number of weights of a stage; stages lie one after the other
    weights: Weights  # `(entries * width,)`


def net_of(
    network: Network, game: SlidingGame, weights: Weights, images: Sequence[list[Orientation]] = ()
) -> Net:
    """Return a network for compiled loops, of weights `(entries * width,)`, perhaps in images."""
    config: Any = numba.config
    if config.DISABLE_JIT:  # which works with what is not written in SIMD
        raise DependencyNotInstalled("n-tuple networks are compiled: unset NUMBA_DISABLE_JIT.")
    images = images or [orientations(network, turned=False)]
    parts = [parts_of(network, weights, lanes).reshape(-1) for lanes in images]
    used = len(images[0])
    faces = np.zeros(CELL_MASK + 1, np.uint64)
    faces[: len(game.rules.faces)] = game.rules.faces
    faces[faces < network.least] = 0
    return Net(
        game=game_tables(game),
        parts=np.concatenate([*parts, np.zeros(LANES, np.uint32)]),  # any vector may be read
        lanes=Word(round_up(used)),
        used=tuple(map(Word, range(used))),
        turns=network.per_board // used,
        faces=np.add.outer(faces, faces).reshape(-1),
        stages=np.array(network.stages, np.uint64),
        stage_size=Word(len(weights) // (1 + len(network.stages))),
        weights=weights,
    )


def orientations(network: Network, turned: bool) -> list[Orientation]:
    """Return all tuples in all reflections, of a board or, if `turned`, of its columns as rows."""
    lanes, begins, last = [], 0, np.subtract(network.shape, 1)
    for cells in network.tuples:
        places = np.transpose(np.divmod(cells, network.shape[1]))
        for reflection in REFLECTIONS:
            rows, columns = np.where(reflection, last - places, places).T.tolist()
            lanes.append((begins, columns, rows) if turned else (begins, rows, columns))
        begins += network.values ** len(cells)
    return lanes


def parts_of(network: Network, weights: Weights, lanes: Sequence[Orientation]) -> Indices:
    """Return what each pair of tiles adds to the index of each lane, `(4, 2, 1024, n)`."""
    width = len(weights) // network.entries
    pairs = np.arange(PAIRS)
    digits = np.minimum([pairs & CELL_MASK, pairs >> CELL_BITS], network.values - 1)
    parts = np.zeros((4, 2, PAIRS, round_up(len(lanes))), np.int64)
    for lane, (begins, rows, columns) in enumerate(lanes):
        added = addends(network.values, len(rows)) * width
        parts[0, 0, :, lane] += begins * width
        for place, (row, column) in enumerate(zip(rows, columns, strict=True)):
            parts[row, column // 2, :, lane] += added[digits[column % 2], place]
    return parts.astype(np.uint32)


@compiled
def look_up(net: Net, action: Word, after: Pushed, out: Indices, at: Word) -> Word:
    """Look up an afterstate, `turns * lanes` indices from `at` on; fetch them; return its stage."""
    rows = rows_after(net.game, action, after)
    stage = stage_of(net, tiles_of(net, rows))
    look_up_rows(net, rows, Word(0), stage, out, at)
    if net.game.rows == net.game.columns:
        look_up_rows(net, transposed(*rows), Word(0), stage, out, at + net.lanes)
    return stage


@compiled
def tiles_of(net: Net, lines: Lines) -> Word:
    a, b, c, d = lines
    return tiles_on(net, a) + tiles_on(net, b) + tiles_on(net, c) + tiles_on(net, d)


@compiled
def tiles_on(net: Net, line: Word) -> Word:
    return Word(net.faces[line & LOW_BLOCK] + net.faces[line >> TWO_CELLS])


@compiled
def stage_of(net: Net, tiles: Word) -> Word:
    """Return the number of the stage of a board, given the sum of its large tiles."""
    stage = Word(0)
    for begin in net.stages:
        stage += Word(tiles >= begin)
    return stage


@compiled
def look_up_rows(net: Net, rows: Lines, first: Word, stage: Word, out: Indices, at: Word) -> None:
    """Write the indices of a board's entries, by the lines of `parts` from `first` on."""
    a, b, c, d = rows
    upper = halves(net, a, first) + halves(net, b, first + ROW)
    lower = halves(net, c, first + ROW + ROW) + halves(net, d, first + ROW + ROW + ROW)
    base = stage * net.stage_size
    add_up(net.parts, upper + lower, net.used, out, (at,), net.weights, base)


@compiled
def halves(net: Net, row: Word, first: Word) -> tuple[Word, Word]:
    """Return where the lines of `parts` for the halves of a row begin, its own from `first` on."""
    lanes = Word(-(-len(net.used) // LANES) * LANES)  # known to the compiler
    return (first + (row & LOW_BLOCK)) * lanes, (first + SECOND_HALF + (row >> TWO_CELLS)) * lanes


@compiled
def sum_up(net: Net, indices: Indices, at: Word, stage: Word) -> np.float32:
    """Return the sum of a board's entries, as `look_up` has written them from `at` on."""
    # Four sums at a time, in a fixed order: one would wait for the end of each addition.
    first = second = third = fourth = np.float32(0)
    stage *= net.stage_size
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
    net: Net, rows: Lines, indices: Indices, at: Word
) -> tuple[Word, Pushed, np.float32, Word, Word]:
    """Choose the action with the highest r + V(s'), the first of several.

    All afterstates are looked up before any is summed up, so that the waits for memory overlap;
    `indices` has room for four of them (see `room_for`) from `at` on.  Returns the best action (4
    if none is legal), its afterstate, V(s'), where its indices begin, and its stage.
    """
    columns = transposed(*rows)
    entries, room = Word(net.turns) * net.lanes, room_for(net, ONE)
    legal = Word(0)
    for direction in range(ACTIONS_END):
        action = Word(direction)
        after = pushed_to(net.game, action, *rows, columns)
        if after.changed:
            legal |= ONE << action
            place = at + action * room
            indices[place + entries] = after.reward
            indices[place + entries + ONE] = look_up(net, action, after, indices, place)
    best, best_stage, value, highest = ACTIONS_END, Word(0), np.float32(0), np.float32(-np.inf)
    for direction in range(ACTIONS_END):
        action = Word(direction)
        if legal >> action & ONE:
            place = at + action * room
            reward, stage = indices[place + entries], Word(indices[place + entries + ONE])
            after_value = sum_up(net, indices, place, stage)
            if after_value + np.float32(reward) > highest:
                best, best_stage = action, stage
                value, highest = after_value, after_value + np.float32(reward)
    chosen = pushed_to(net.game, best & Word(3), *rows, columns)
    return best, chosen, value, at + best * room, best_stage


@compiled
def room_for(net: Net, afterstates: Word) -> Word:
    """Return the room for afterstates in `best_move`: indices, and for each reward and stage."""
    return afterstates * (Word(net.turns) * net.lanes + Word(2))


@compiled_loop
def action_values(net: Net, boards: Words) -> NDArray[np.float32]:
    """Return r + V(s') of each action, `(n, 4)`, on rows `(n, 4)`; minus infinity if illegal."""
    game, values = net.game, np.full((len(boards), 4), -np.inf, np.float32)
    indices = np.zeros(room_for(net, ONE), np.uint32)
    for i in range(len(boards)):
        rows = boards[i, 0], boards[i, 1], boards[i, 2], boards[i, 3]
        columns = transposed(*rows)
        for direction in range(4):
            action = Word(direction)
            after = pushed_to(game, action, *rows, columns)
            if after.changed:
                stage = look_up(net, action, after, indices, Word(0))
                value = sum_up(net, indices, Word(0), stage)
                values[i, direction] = value + np.float32(after.reward)
    return values
