"""Settings for all tests."""

import multiprocessing
import os
import signal

from hypothesis import settings

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

# TorchRL makes it "spawn", for the whole process, where none has been settled.
multiprocessing.get_start_method()

# A shell that runs the tests in the background lets Ctrl-C be ignored, by all processes below it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example compiles lookup tables, so a deadline for each example says nothing.
settings.register_profile("tile_envs", deadline=None, derandomize=True)
settings.load_profile("tile_envs")
