"""The game of powers of three, as a user of the package would add it."""

from tile_envs.sliding import Rules, register_game

TILES = range(1, 18)
RULES = Rules(
    name="Powers3",
    faces=(0, *(3**tile for tile in TILES)),
    merges=[(tile, tile, tile + 1) for tile in TILES[:-1]],
    spawn={3: 0.9, 9: 0.1},
    goal=2187,
)
register_game("Powers3-v0", RULES)
