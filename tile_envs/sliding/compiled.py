"""What compiled loops of sliding games share, however their boards are held."""

from tile_envs.base.compiled import Word, compiled
from tile_envs.base.loops import World

# What spreads four bits to a byte each: bit k of copy k stays.
FOUR_TIMES, LOWEST_BITS = Word(0x00204081), Word(0x01010101)


@compiled
def show_infos(world: World, i: int) -> None:
    world.masks[i, 0] = Word(world.legal[i]) * FOUR_TIMES & LOWEST_BITS
    world.shown_scores[i] = world.scores[i]
    world.max_tiles[i] = world.faces[world.largest[i]]
    world.shown_illegal[i] = world.illegal[i]
