"""Measures what the first use of the package costs, in fresh processes."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.speed.turns import Row, now, summary_row

PROGRAMS = {
    "import tile_envs, ms": (
        "import time; t = time.process_time(); import tile_envs;"
        "print(1000 * (time.process_time() - t))"
    ),
    "import tile_envs after gymnasium, ms": (
        "import time, gymnasium; t = time.process_time(); import tile_envs;"
        "print(1000 * (time.process_time() - t))"
    ),
    "first gym.make, s": (
        "import time, gymnasium, tile_envs; t = time.process_time();"
        "gymnasium.make('Tiles2048-v0'); print(time.process_time() - t)"
    ),
    "memory of the engine, MiB": (
        "import tracemalloc, gymnasium, numpy, tile_envs.sliding as s; tracemalloc.start();"
        "e = gymnasium.make_vec('Tiles2048-v0', num_envs=1); e.reset(seed=0);"
        "print(tracemalloc.get_traced_memory()[0] / 2**20)"
    ),
}
"""By measure, a program that prints its value."""


def keys(turns: int) -> list[Row]:
    """Return the columns that name each row."""
    columns = {"package": "tile-envs", "game": "2048", "kind": "single", "num_envs": 1}
    return [{"measure": measure} | columns for measure in PROGRAMS]


def rows(turns: int) -> list[Row]:
    """Run each program so many times."""
    run = now()
    return [
        summary_row(key, [_printed(key["measure"]) for _ in range(turns)], run)
        for key in keys(turns)
    ]


def _printed(measure: str) -> float:
    run = [sys.executable, "-c", PROGRAMS[measure]]
    return float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
