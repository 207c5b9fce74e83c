"""Settings for all tests."""

import os

from hypothesis import settings

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

# The first example compiles lookup tables, so a deadline for each example says nothing.
settings.register_profile("tile_envs", deadline=None, derandomize=True)
settings.load_profile("tile_envs")
