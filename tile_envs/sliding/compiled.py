"""What compiled loops of sliding games share, however their boards are held."""

from typing import Any

import numpy as np

from tile_envs.base.compiled import HALF, LOW_HALF, ONE, Word, compiled
from tile_envs.base.loops import World
from tile_envs.base.random_stream import Words
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import ACTIONS, UP

ACTIONS_END = Word(len(ACTIONS))
# What spreads four bits to a byte each: bit k of copy k stays.
FOUR_TIMES, LOWEST_BITS = Word(0x00204081), Word(0x01010101)


@compiled
def show_infos(world: World, i: int) -> None:
    world.masks[i, 0] = Word(world.legal[i]) * FOUR_TIMES & LOWEST_BITS
    world.shown_scores[i] = world.scores[i]
    world.max_tiles[i] = world.faces[world.largest[i]]
    world.shown_illegal[i] = world.illegal[i]


def spawn_tables(game: SlidingGame) -> tuple[Words, Words]:
    """Return the tiles that can appear, and their cumulative thresholds in [0, 2**32]."""
    tiles, thresholds = game.distribution.tiles, game.distribution.thresholds
    return np.array(tiles, np.uint64), np.array((*thresholds, LOW_HALF + ONE), np.uint64)


@compiled
def drawn_tile(game: Any, word: Word) -> Word:
    """Return the index of the tile that a random word makes appear.

    `game` is anything that holds the `tiles` and `thresholds` of `spawn_tables`.
    """
    which = 0
    while (word & LOW_HALF) >= game.thresholds[which]:
        which += 1
    tile: Word = game.tiles[which]
    return tile


@compiled
def is_vertical(action: Word) -> bool:
    """Tell whether an action pushes columns: up and down are even, left and right odd."""
    return bool(action & ONE == Word(UP))


@compiled
def count(cells: Word) -> Word:
    n = Word(0)
    while cells:
        cells &= cells - ONE
        n += ONE
    return n


@compiled
def member(bits: Word, word: Word) -> Word:
    """Return a member of a set, the number of one of its bits, by the high half of a word."""
    for _ in range((word >> HALF) * count(bits) >> HALF):
        bits &= bits - ONE
    return count((bits & ~bits + ONE) - ONE)  # the lowest that is left
