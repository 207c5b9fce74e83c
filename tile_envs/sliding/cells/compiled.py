"""Many boards of cells, played by compiled loops, one game after the other."""

from typing import Any

import numpy as np

from tile_envs.base.compiled import HALF, LOW_HALF, Word, compiled, next_word
from tile_envs.base.engine import Transition
from tile_envs.base.loops import Loops, loops, world_of
from tile_envs.sliding.compiled import drawn_tile, is_vertical, member, show_infos, spawn_tables
from tile_envs.sliding.game import SlidingGame, State
from tile_envs.sliding.pairs import TILE_BITS
from tile_envs.sliding.rules import ACTIONS, LEFT, UP

NONE, TO_FIRST = Word(0), Word(TILE_BITS)
TO_UP, TO_LEFT = Word(UP), Word(LEFT)

SHOWN = "observations masks shown_scores max_tiles shown_illegal"
PAIRS, STARTS = "merged row_legal column_legal faces", "start listed threshold"
TABLES = f"n_rows n_columns last_tile {PAIRS} {STARTS} tiles thresholds"
World: Any = world_of(__name__, SHOWN, State, TABLES)
"""Boards, and those that are shown, are `(n, R * C)`, masks `(n, 1) uint32`, a byte an action.
Tables are the shape and `Pairs`; how games start, `Start.tiles`, `Start.listed`, `(m, R * C)` or
None, and its threshold; and the last and the new tiles, as in `GameTables`."""


@compiled
def play(world: World, i: int, action: Word) -> float:
    reward = push(world, i, action)
    word = next_word(world.streams, i)
    place(world.boards, i, drawn_tile(world, word), word)
    world.scores[i] += np.int64(reward)
    settle(world, i)
    return np.float64(reward)


@compiled
def begin(world: World, i: int) -> None:
    begin_by(world, world.listed, i)  # an argument: numba drops the branch on it if it is None


@compiled
def begin_by(world: World, listed: Any, i: int) -> None:
    boards, tiles = world.boards, world.start
    world.scores[i] = 0
    for cell in range(boards.shape[1]):
        boards[i, cell] = 0
    if listed is not None:
        word = next_word(world.streams, i)
        if word & LOW_HALF < Word(world.threshold):
            at = (word >> HALF) * Word(len(listed)) >> HALF
            for cell in range(boards.shape[1]):  # numba would copy a slice first
                boards[i, cell] = listed[at, cell]
            tiles = tiles[:0]
    for fixed in tiles:
        word = next_word(world.streams, i)
        place(boards, i, fixed if fixed else drawn_tile(world, word), word)
    settle(world, i)


@compiled
def push(world: World, i: int, action: Word) -> Word:
    """Push a board in place; return the reward."""
    # A line begins at the wall that the tiles move towards.
    boards = world.boards
    n_lines, length, beside, along = world.n_rows, world.n_columns, world.n_columns, 1
    if is_vertical(action):
        n_lines, length, beside, along = length, n_lines, 1, beside
    first = 0
    if action != TO_UP and action != TO_LEFT:
        first, along = (length - 1) * along, -along
    # Without branches on tiles, which a processor could not predict.
    reward = NONE
    for line in range(n_lines):
        begin = first + line * beside
        free: Any = begin
        last = NONE  # the first cell that is free, and the tile that may still merge
        for place in range(length):
            cell = begin + place * along
            tile = Word(boards[i, cell])
            made = Word(world.merged[last << TO_FIRST | tile])
            is_tile, is_merge = np.int64(tile != NONE), np.int64(made != NONE)
            boards[i, cell] = 0
            boards[i, free - is_merge * along] = made if is_merge else tile
            reward += Word(world.faces[made])
            free += (is_tile - is_merge) * along
            last = NONE if is_merge else tile if is_tile else last
    return reward


@compiled
def place(boards: Any, i: int, tile: Word, word: Word) -> None:
    """Set a tile on one of the empty cells, as a random word chooses it."""
    empty = NONE
    for cell in range(boards.shape[1]):
        empty |= Word(boards[i, cell] == 0) << Word(cell)
    boards[i, member(empty, word)] = tile


@compiled
def settle(world: World, i: int) -> None:
    """Find the legal actions and the largest tile of a game."""
    boards, legal, largest, cell = world.boards, NONE, NONE, 0
    for row in range(world.n_rows):
        for column in range(world.n_columns):
            tile = Word(boards[i, cell])
            largest = max(largest, tile)
            pairs = tile << TO_FIRST
            if column + 1 < world.n_columns:
                legal |= Word(world.row_legal[pairs | Word(boards[i, cell + 1])])
            if row + 1 < world.n_rows:
                legal |= Word(world.column_legal[pairs | Word(boards[i, cell + world.n_columns])])
            cell += 1
    world.legal[i] = legal if largest < world.last_tile else NONE
    world.largest[i] = largest


@compiled
def show(world: World, i: int) -> None:
    for cell in range(world.boards.shape[1]):
        world.observations[i, cell] = world.boards[i, cell]
    show_infos(world, i)


PLAY, BEGIN = loops(World, len(ACTIONS), begin, play, show)


def loops_of(game: SlidingGame) -> Loops:
    """Return the loops of a game whose tiles are placed uniformly."""
    start, n_cells, pairs = game.start, game.shape[0] * game.shape[1], game.pairs
    listed = start.listed.reshape(-1, n_cells) if len(start.listed) else None
    starts = np.array(start.tiles, np.uint64), listed, start.threshold
    looked_up = pairs.merged, pairs.row_legal, pairs.column_legal, pairs.faces
    tables = *game.shape, Word(game.last_tile), *looked_up, *starts, *spawn_tables(game)
    return Loops(PLAY, BEGIN, _shown, _state, tables)


def _shown(transition: Transition) -> tuple[Any, ...]:
    observations, (masks, *infos) = transition.observations, transition.infos.values()
    return observations.reshape(len(observations), -1), masks.view(np.uint32), *infos


def _state(state: State) -> tuple[Any, ...]:
    return *state[:-1], state.boards.reshape(len(state.boards), -1)
