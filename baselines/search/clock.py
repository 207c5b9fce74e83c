"""A clock for compiled code: numba itself knows none."""

import sys
from collections.abc import Callable
from time import get_clock_info, monotonic
from typing import Any

import numba
import numpy as np
from numba import types

from tile_envs.base.compiled import compiled_loop

# Functions of the system, with their first argument if there is one, the number of the clock that
# only rises, and the seconds of a unit of each number that they write.
NAME, NUMBER, SECONDS = "clock_gettime", (6 if sys.platform == "darwin" else 1,), (1.0, 1e-9)
if sys.platform == "win32":
    tick = get_clock_info("perf_counter").resolution
    NAME, NUMBER, SECONDS = "QueryPerformanceCounter", (), (tick, 0.0)
_read: Any = types.ExternalFunction(NAME, types.int32(*[types.int32] * len(NUMBER), types.intp))


@compiled_loop
def _now() -> float:
    time = np.zeros(2, np.int64)
    _read(*NUMBER, time.ctypes.data)
    return float(time[0] * SECONDS[0] + time[1] * SECONDS[1])


config: Any = numba.config
now: Callable[[], float] = monotonic if config.DISABLE_JIT else _now
"""Returns the seconds since some moment."""
