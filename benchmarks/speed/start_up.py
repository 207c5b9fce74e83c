"""Measures what the first use of the package costs, in fresh processes.

What a compiled engine costs is the CPU time of the first `make_vec` and step, without the import of
numba: compiled anew, and kept from an earlier process.
"""

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from benchmarks.results import Row
from benchmarks.speed.turns import OURS, now, summary_row

ANEW, KEPT = "first compiled engine, s", "first compiled engine, code kept, s"
_TIMED = "import {}, time; t = time.process_time(); {}; print({} * (time.process_time() - t))"
"""A program that imports modules, and prints the CPU time of statements in parts of a second."""
_COMPILED = _TIMED.format(
    "gymnasium, numba, tile_envs",
    "e = gymnasium.make_vec('Tiles2048-v0', 64, engine='numba'); e.reset(seed=0);"
    "e.step(e.sample_legal_actions())",
    1,
)
PROGRAMS = {
    "import tile_envs, ms": _TIMED.format("sys", "import tile_envs", 1000),
    "import tile_envs after gymnasium, ms": _TIMED.format("gymnasium", "import tile_envs", 1000),
    "first gym.make, s": _TIMED.format("gymnasium, tile_envs", "gymnasium.make('Tiles2048-v0')", 1),
    "memory of the engine, MiB": (
        "import tracemalloc, gymnasium, numpy, tile_envs.sliding as s; tracemalloc.start();"
        "e = gymnasium.make_vec('Tiles2048-v0', num_envs=1); e.reset(seed=0);"
        "print(tracemalloc.get_traced_memory()[0] / 2**20)"
    ),
    ANEW: _COMPILED,
    KEPT: _COMPILED,
}
"""By measure, a program that prints its value."""


def measure(turns: int) -> list[Row]:
    """Run each program so many times, and before that once where compiled code is kept."""
    rows, run = [], now()
    for measure, program in PROGRAMS.items():
        key = {"measure": measure, "package": OURS, "game": "2048", "kind": "single", "num_envs": 1}
        values, command = [], [sys.executable, "-c", program]
        with TemporaryDirectory() as folder:
            for turn in range(turns + (measure == KEPT)):
                cache = f"{folder}/{turn}" if measure == ANEW else folder
                env = os.environ | {"NUMBA_CACHE_DIR": cache}
                printed = subprocess.check_output(command, env=env, stderr=subprocess.PIPE)
                values.append(float(printed))
        rows.append(summary_row(key, values[-turns:], run))
    return rows
