"""A clock for compiled code: numba itself knows none."""

import sys
from collections.abc import Callable
from time import get_clock_info, monotonic
from typing import Any

import numba
import numpy as np
from numba import types

from tile_envs.base.compiled import compiled_loop

if sys.platform == "win32":
    _read_ticks: Any = types.ExternalFunction("QueryPerformanceCounter", types.int32(types.intp))
    TICK = get_clock_info("perf_counter").resolution  # in seconds

    @compiled_loop
    def _now() -> float:
        ticks = np.zeros(1, np.int64)
        _read_ticks(ticks.ctypes.data)
        return float(TICK * ticks[0])

else:
    _read_clock: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))
    MONOTONIC = 6 if sys.platform == "darwin" else 1  # the number of the clock that only rises

    @compiled_loop
    def _now() -> float:
        time = np.empty(2, np.int64)  # seconds, and nanoseconds
        _read_clock(MONOTONIC, time.ctypes.data)
        return float(time[0] + 1e-9 * time[1])


config: Any = numba.config
now: Callable[[], float] = monotonic if config.DISABLE_JIT else _now
"""Returns the seconds since some moment."""
