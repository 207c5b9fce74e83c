"""The last chance node of a search: all new tiles on an afterstate, and the best push after each.

A new tile changes one line of an afterstate, so a push afterwards differs in that line alone from
the push without it.  For each push and each line,

    V = sum of the entries that do not see the line + sum of those that do:

the first sum is the same for all tiles on the line, and the indices of the second ones follow from
those without a tile.  Neighbours that are pushed to the same line are looked up once.  Everything
is looked up before anything is summed up, so that the waits for memory overlap.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.ntuple.network import Indices, Network, Weights
from baselines.ntuple.simd import LANES, add_up
from baselines.ntuple.values import (
    ROW,
    Net,
    halves,
    look_up_rows,
    net_of,
    orientations,
    stage_of,
    tiles_of,
    tiles_on,
)
from baselines.pushes import possible_cells
from tile_envs.base.compiled import ONE, Word, compiled
from tile_envs.base.random_stream import Words
from tile_envs.sliding.compiled import ACTIONS_END, count, is_vertical
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import (
    CELL,
    LINE,
    REWARD,
    TO_REWARD,
    Lines,
    line_of,
    transposed,
)

VECTOR, LINES_END, CELLS_END = Word(LANES), Word(4), Word(16)
ONE_VECTOR = tuple(map(Word, range(LANES)))
ORDER = ((0, 0), (0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (3, 3), (1, 1), (2, 2), (1, 2))
"""The order of lanes by the first and last row that they see: those of a row are neighbors."""


class Leaves(NamedTuple):
    """A network as the last chance node takes it, and room for the numbers of one node."""

    # With a lane for each tuple in each orientation, and the game to search.  On a board that is
    # not square, its `parts` also have lines for columns.
    net: Net
    turned: Word  # where the lines for columns begin, among those for rows
    begins: Words  # `(8,)`, for each row, then each column: the first lane that sees it, less its
    ends: Words  # remainder by 4; and the end of the lanes that do, rounded up
    sums: Indices  # of each push, of those without a line, and of each new line
    # `(n, 4)`, of each new line where its indices begin, where the weights of its stage do, the new
    # tile that leads to it (times 16), and the cells on which it does, as bits.
    lines: Words
    rewards: NDArray[np.float32]  # `(n,)`, of the push to it
    lines_end: Words  # `(16,)`, by push and line, where the new lines end
    probabilities: NDArray[np.float64]  # `(tiles,)`, of each tile
    cells: Words  # `(tiles,)`, where each tile may appear
    best: NDArray[np.float32]  # `(tiles * 16,)`, the best push after each tile on each cell


def leaves_of(network: Network, weights: Weights, game: SlidingGame) -> Leaves:
    """Return a network for the last chance node of a game, with the weights of another form."""
    images = [orientations(network, turned) for turned in (False, True)]
    if network.shape[0] == network.shape[1]:
        images = [images[0] + images[1]]  # the same of rows as of columns
    bounds = np.zeros((2, 2, 4), np.uint64)
    for turn, lanes in enumerate(images):
        lanes.sort(key=lambda lane: ORDER.index((min(lane[1]), max(lane[1]))))
        for row in range(4):
            if seeing := [i for i, (_, rows, _) in enumerate(lanes) if row in rows]:
                bounds[:, turn:, row] = [[seeing[0] // 4 * 4], [seeing[-1] // 4 * 4 + 4]]
    tiles, net = len(game.distribution.tiles), net_of(network, game, weights, images)
    wide, new_lines = int(net.lanes) + LANES, 4 * 16 * tiles
    return Leaves(
        net=net,
        turned=Word(len(images) - 1) * LINES_END * ROW,
        begins=bounds[0].reshape(8),
        ends=bounds[1].reshape(8),
        sums=np.zeros((5 + new_lines) * wide, np.uint32),
        lines=np.zeros((new_lines, 4), np.uint64),
        rewards=np.zeros(new_lines, np.float32),
        lines_end=np.zeros(16, np.uint64),
        probabilities=np.array(game.distribution.probabilities),
        cells=np.zeros(tiles, np.uint64),
        best=np.full(16 * tiles, -np.inf, np.float32),
    )


@compiled
def last_chance(leaves: Leaves, rows: Lines) -> np.float32:
    """Return A(s', 1) of an afterstate without the goal, given by its rows; see `expectimax`."""
    game, cells = leaves.net.game, Word(0)
    for tile in range(Word(len(game.tiles))):
        if tile == Word(0) or game.adversarial is not None:  # which chooses cells for each tile
            cells = possible_cells(game, *rows, game.tiles[tile])
        leaves.cells[tile] = cells if game.tiles[tile] < game.last_tile else Word(0)  # no push
    columns, end = transposed(*rows), Word(0)
    for direction in range(ACTIONS_END):
        action = Word(direction)
        end = _look_up(leaves, action, columns if is_vertical(action) else rows, end)
    _sum_up(leaves)
    expected = np.float64(0)
    for tile in range(Word(len(game.tiles))):
        total = np.float64(0)
        for place in range(tile * CELLS_END, (tile + ONE) * CELLS_END):
            if leaves.best[place] > -np.inf:
                total += leaves.best[place]
                leaves.best[place] = -np.inf
        expected += leaves.probabilities[tile] * total / max(count(leaves.cells[tile]), ONE)
    return np.float32(expected)


@compiled
def _look_up(leaves: Leaves, action: Word, lines: Lines, end: Word) -> Word:
    """Look up a push after each new tile; return the number of new lines, `end` before it."""
    net, game = leaves.net, leaves.net.game
    if is_vertical(action):
        n_lines, length, line_step, cell_step = game.columns, game.rows, 1, game.columns
        bounds, table = LINES_END, leaves.turned
    else:
        n_lines, length, line_step, cell_step = game.rows, game.columns, game.columns, 1
        bounds, table = Word(0), Word(0)
    offset, wide = game.offsets[action], net.lanes + VECTOR
    a, b, c, d = lines
    p, q = game.pushed[offset + a], game.pushed[offset + b]
    r, s = game.pushed[offset + c], game.pushed[offset + d]
    after = p & LINE, q & LINE, r & LINE, s & LINE
    changed = Word(after[0] != a) | Word(after[1] != b) << Word(1)
    changed |= Word(after[2] != c) << Word(2) | Word(after[3] != d) << Word(3)
    base, without = action * wide, ACTIONS_END * wide
    tiles = tiles_of(net, after)
    look_up_rows(net, after, table, stage_of(net, tiles), leaves.sums, base)
    for number in range(n_lines):
        i = Word(number)
        line, pushed = line_of(a, b, c, d, number), line_of(p, q, r, s, number)
        reward = (p + q + r + s >> TO_REWARD & REWARD) - (pushed >> TO_REWARD & REWARD)
        other_tiles = tiles - tiles_on(net, pushed & LINE)
        others_changed = changed & ~(ONE << i) != Word(0)
        lane, lanes_end = Word(leaves.begins[bounds + i]), leaves.ends[bounds + i]
        low, high = halves(net, pushed & LINE, table + i * ROW)
        while lane < lanes_end:
            places = base + lane, without + lane
            starts = low + lane, high + lane
            add_up(net.parts, starts, ONE_VECTOR, leaves.sums, places, None, None)
            lane += VECTOR
        for tile in range(Word(len(game.tiles))):
            last = ~Word(0)
            for j in range(Word(length)):
                cell = i * Word(line_step) + j * Word(cell_step)
                if not leaves.cells[tile] >> cell & ONE:
                    continue
                held = line | game.tiles[tile] << j * CELL
                pushed = game.pushed[offset + held]
                if not others_changed and (pushed & LINE) == held:
                    continue
                if pushed != last:
                    last, to = pushed, (ACTIONS_END + ONE + end) * wide
                    begin = stage_of(net, other_tiles + tiles_on(net, pushed & LINE))
                    begin *= net.stage_size
                    leaves.rewards[end] = np.float32(reward + (pushed >> TO_REWARD & REWARD))
                    leaves.lines[end, 0], leaves.lines[end, 1] = to, begin
                    leaves.lines[end, 2], leaves.lines[end, 3] = tile * CELLS_END, Word(0)
                    end += ONE
                    low, high = halves(net, pushed & LINE, table + i * ROW)
                    lane = Word(leaves.begins[bounds + i])
                    while lane < lanes_end:
                        starts, places = (low + lane, high + lane), (without + lane, to)
                        sums = leaves.sums
                        add_up(net.parts, starts, ONE_VECTOR, sums, places, net.weights, begin)
                        lane, to = lane + VECTOR, to + VECTOR
                leaves.lines[end - ONE, 3] |= ONE << cell
        leaves.lines_end[action * LINES_END + i] = end
    return end


@compiled
def _sum_up(leaves: Leaves) -> None:
    """Sum up what was looked up, and keep the best value after each new tile."""
    net, sums, new_line = leaves.net, leaves.sums, Word(0)
    for group in range(16):
        action, i = Word(group // 4), Word(group % 4)
        bounds = LINES_END if is_vertical(action) else Word(0)
        begin, end = leaves.begins[bounds + i], leaves.ends[bounds + i]
        base = action * (net.lanes + VECTOR)
        rest, rest_stage = np.float32(0), ~Word(0)
        while new_line < leaves.lines_end[group]:
            at, stage = leaves.lines[new_line, 0], leaves.lines[new_line, 1]
            if stage != rest_stage:
                rest_stage = stage
                rest = _sum(net, sums, base, base + begin, stage)
                rest += _sum(net, sums, base + end, base + Word(len(net.used)), stage)
            value = rest + _sum(net, sums, at, at + end - begin, stage)
            value += leaves.rewards[new_line]
            cells = leaves.lines[new_line, 3]
            while cells:
                place = leaves.lines[new_line, 2] + count((cells & ~cells + ONE) - ONE)
                leaves.best[place] = max(leaves.best[place], value)
                cells &= cells - ONE
            new_line += ONE


@compiled
def _sum(net: Net, sums: Indices, lane: Word, end: Word, stage: Word) -> np.float32:
    # Four sums at a time: one would wait for the end of each addition.
    first = second = third = fourth = np.float32(0)
    while lane < end:
        first += net.weights[stage + sums[lane]]
        second += net.weights[stage + sums[lane + Word(1)]]
        third += net.weights[stage + sums[lane + Word(2)]]
        fourth += net.weights[stage + sums[lane + Word(3)]]
        lane += Word(4)
    return (first + second) + (third + fourth)
