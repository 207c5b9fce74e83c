"""A person plays, in the terminal or in a window: `python -m tile_envs.play Tiles2048-v0`."""
