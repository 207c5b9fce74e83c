"""Many sliding games, played by compiled code, one game after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.compiled import HALF, NEXT, ONE, Word, compiled, compiled_loop, mixed
from tile_envs.base.compiled_engine import CompiledEngine, all_inside, clear, finish
from tile_envs.base.engine import Bools, Floats, Ints, Outcome
from tile_envs.base.random_stream import Words
from tile_envs.sliding import kernels
from tile_envs.sliding.numpy_engine import KTH_LEGAL, N_LEGAL, PackedEngine, SlidingEngine
from tile_envs.sliding.tables import PACKED_SIDE

NONE = Word(0)
BYTE, TWO_BYTES = Word(8), Word(16)
NO_ROWS = np.empty((0, 0, 0), np.uint32)
# What spreads the cells of a line, 5 bits each, to a byte each: first in pairs, then one by one.
LOW_PAIR, HIGH_PAIR, TO_PAIRS = Word(0x003FF), Word(0xFFC00), Word(6)
EVEN_CELL, ODD_CELL, TO_BYTES = Word(0x001F001F), Word(0x03E003E0), Word(3)
# What spreads four bits to a byte each: bit k of copy k stays.
FOUR_TIMES, LOWEST_BITS = Word(0x00204081), Word(0x01010101)


class World(NamedTuple):
    """All that the loops read and write; see `tile_envs.base.compiled_engine.World`."""

    tables: kernels.GameTables

    rewards: Floats
    terminations: Bools
    truncations: Bools
    rows: NDArray[np.uint32]  # of the observations that have four columns; else nothing
    observations: NDArray[np.uint8]
    masks: NDArray[np.uint32]  # a byte an action
    shown_scores: Ints
    max_tiles: Ints
    shown_illegal: Bools

    streams: Words
    steps: Ints
    illegal_run: Ints
    illegal: Bools
    ended: Bools
    max_illegal: int
    max_steps: int

    legal: Ints
    scores: Ints
    largest: Ints
    lines: Ints
    row_legal: NDArray[np.uint8]
    column_legal: NDArray[np.uint8]
    faces: Ints
    start: Words  # `Start.tiles`
    listed: Words | None  # rows and largest tile of each board of `Start.listed`, (m, 5)
    threshold: int  # `Start.threshold`


TABLES = len(World._fields) - 1
"""Where those of `World.tables`, the last ones, begin among the arrays that a loop takes."""


@compiled_loop
def play_all(first: int, end: int, actions: Ints, *arrays: Any) -> bool:
    """Play a step of some games in a row; see `CompiledEngine`."""
    world = World(kernels.GameTables(*arrays[TABLES:]), *arrays[:TABLES])
    if not all_inside(first, end, actions, 4):
        return False
    for i in range(Word(first), Word(end)):
        if world.ended[i]:
            begin(world, world.listed, i)
            world.rewards[i], world.terminations[i], world.truncations[i] = 0.0, False, False
        else:
            action, reward = Word(actions[i]), 0.0
            legal = bool(Word(world.legal[i]) >> action & ONE)
            if legal:
                reward = play(world, i, action)
            finish(world, i, reward, legal, world.legal[i] == 0)
        show(world, i)
    return True


@compiled_loop
def begin_all(games: Ints, *arrays: Any) -> None:
    """Begin some games anew, and show them; see `CompiledEngine`."""
    world = World(kernels.GameTables(*arrays[TABLES:]), *arrays[:TABLES])
    for i in games:
        begin(world, world.listed, i)
        show(world, i)


@compiled_loop
def chosen_all(words: Words, legal: Ints) -> Ints:
    """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
    actions = np.empty(len(words), np.int64)
    for i in range(len(words)):
        k = (words[i] >> HALF) * N_LEGAL[legal[i]] >> HALF
        actions[i] = KTH_LEGAL[Word(legal[i]) * kernels.ACTIONS_END + k]
    return actions


@compiled
def play(world: World, i: int, action: Word) -> float:
    """Play a legal action in one game; return the reward."""
    axis = 1 if kernels.is_vertical(action) else 0
    lines, tables = world.lines, world.tables
    a, b = Word(lines[axis, 0, i]), Word(lines[axis, 1, i])
    c, d = Word(lines[axis, 2, i]), Word(lines[axis, 3, i])
    after = kernels.push(tables, action, a, b, c, d)
    position = world.streams[i] + NEXT
    world.streams[i] = position
    word = mixed(position)
    rows, columns = kernels.both_following(tables, tables.adversarial, action, after, word)
    settle(world, i, rows, columns)
    world.largest[i] = max(after.largest, kernels.drawn_tile(tables, word))
    world.scores[i] += np.int64(after.reward)
    return np.float64(after.reward)


@compiled
def begin(world: World, listed: Words | None, i: int) -> None:
    """Begin one game anew; as an argument of its own, no `listed` leaves out what needs it."""
    clear(world, i)
    world.scores[i] = 0
    position, largest = world.streams[i], NONE
    a = b = c = d = NONE
    tiles = world.start
    if listed is not None:
        position += NEXT
        word = mixed(position)
        if word & kernels.LOW_HALF < Word(world.threshold):
            at = (word >> HALF) * Word(len(listed)) >> HALF
            a, b, c, d = listed[at, 0], listed[at, 1], listed[at, 2], listed[at, 3]
            largest = listed[at, 4]
            tiles = tiles[:0]
    for fixed in tiles:
        position += NEXT
        word = mixed(position)
        tile = fixed if fixed else kernels.drawn_tile(world.tables, word)
        largest = max(largest, tile)
        cells = kernels.empty_cells(world.tables, a, b, c, d)
        a, b, c, d = kernels.placed(a, b, c, d, kernels.one_of(world.tables, cells, word), tile)
    world.streams[i] = position
    world.largest[i] = largest
    settle(world, i, (a, b, c, d), kernels.transposed(a, b, c, d))


@compiled
def settle(world: World, i: int, rows: kernels.Lines, columns: kernels.Lines) -> None:
    """Take over a game's board, and find its legal actions."""
    (a, b, c, d), (e, f, g, h), lines = rows, columns, world.lines
    lines[0, 0, i], lines[0, 1, i], lines[0, 2, i], lines[0, 3, i] = a, b, c, d
    lines[1, 0, i], lines[1, 1, i], lines[1, 2, i], lines[1, 3, i] = e, f, g, h
    of_row, of_column = world.row_legal, world.column_legal
    world.legal[i] = (
        of_row[a] | of_row[b] | of_row[c] | of_row[d]
        | of_column[e] | of_column[f] | of_column[g] | of_column[h]
    )  # fmt: skip


@compiled
def show(world: World, i: int) -> None:
    """Write what is shown of one game."""
    for row in range(world.tables.rows):
        line = Word(world.lines[0, row, i])
        pairs = line & LOW_PAIR | (line & HIGH_PAIR) << TO_PAIRS
        cells = pairs & EVEN_CELL | (pairs & ODD_CELL) << TO_BYTES
        if world.tables.columns == PACKED_SIDE:
            world.rows[i, row, 0] = cells
        else:
            world.observations[i, row, 0] = cells
            world.observations[i, row, 1] = cells >> BYTE
            if world.tables.columns > 2:
                world.observations[i, row, 2] = cells >> TWO_BYTES
    show_infos(world, i)


@compiled
def show_infos(world: Any, i: int) -> None:
    """Write what is shown of one game besides its board, however that is held."""
    world.masks[i, 0] = Word(world.legal[i]) * FOUR_TIMES & LOWEST_BITS
    world.shown_scores[i] = world.scores[i]
    world.max_tiles[i] = world.faces[world.largest[i]]
    world.shown_illegal[i] = world.illegal[i]


class CompiledSlidingEngine(CompiledEngine):
    """Many sliding games, played by compiled code; how their boards are held is up to the subclass.

    Their placer has a name.
    """

    _games: SlidingEngine

    def choose_legal(self, words: Words) -> Ints:
        """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
        return chosen_all(words, self._games.legal)


class CompiledPackedEngine(CompiledSlidingEngine):
    """Many sliding games on packed boards."""

    _loops = play_all, begin_all
    _games: PackedEngine

    def _fixed(self) -> tuple[Any, ...]:
        games, tables = self._games, self._games.game.tables
        start = games.game.start
        lines = kernels.rows_of(games.game, start.listed), start.listed.max(axis=(1, 2))
        listed = np.column_stack(lines) if len(start.listed) else None
        begun = np.array(start.tiles, np.uint64), listed, start.threshold
        held = games.legal, games.scores, games.largest, games.lines
        looked_up = tables.row_legal, tables.column_legal, games.faces
        return *held, *looked_up, *begun, *kernels.game_tables(games.game)

    def _shown(self, outcome: Outcome) -> tuple[NDArray[Any], ...]:
        observations, (masks, *infos) = outcome.observations, outcome.infos.values()
        wide = observations.shape[2] == PACKED_SIDE
        rows = observations.view(np.uint32) if wide else NO_ROWS
        return rows, observations, masks.view(np.uint32), *infos
