"""What compiled loops of sliding games share, however their boards are held."""

import numpy as np

from tile_envs.base.compiled import HALF, Word, compiled, compiled_loop
from tile_envs.base.compiled_episodes import World
from tile_envs.base.random_stream import Words
from tile_envs.game import Ints
from tile_envs.sliding.game import KTH_LEGAL, N_LEGAL
from tile_envs.sliding.rules import ACTIONS

ACTIONS_END = Word(len(ACTIONS))
# What spreads four bits to a byte each: bit k of copy k stays.
FOUR_TIMES, LOWEST_BITS = Word(0x00204081), Word(0x01010101)


@compiled_loop
def choose(words: Words, legal: Ints) -> Ints:
    actions = np.empty(len(words), np.int64)
    for i in range(len(words)):
        k = (words[i] >> HALF) * N_LEGAL[legal[i]] >> HALF
        actions[i] = KTH_LEGAL[Word(legal[i]) * ACTIONS_END + k]
    return actions


@compiled
def show_infos(world: World, i: int) -> None:
    world.masks[i, 0] = Word(world.legal[i]) * FOUR_TIMES & LOWEST_BITS
    world.shown_scores[i] = world.scores[i]
    world.max_tiles[i] = world.faces[world.largest[i]]
    world.shown_illegal[i] = world.illegal[i]
