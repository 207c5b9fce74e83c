"""Alternating turns of several candidates; one row per candidate.

Turns alternate so that a machine that is busy for a while slows every candidate alike.
"""

import statistics
import time
import traceback
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import version

from benchmarks.results import Row
from benchmarks.speed.peers import STEPS_PER_SECOND, Peer, Play

OURS, TDL2048 = "tile-envs", "TDL2048+"
WARM_UP_STEPS = 100  # of each game, not measured: something may be compiled in them
BY_WALL_CLOCK = "steps per second by wall clock"
CLOCKS = {STEPS_PER_SECOND: time.process_time, BY_WALL_CLOCK: time.perf_counter}
"""By measure of speed, what tells the time; CPU time is that of all threads."""


def measure_speeds(candidates: Sequence[Peer], turns: int, seconds: float) -> list[Row]:
    """Measure speeds, in turns of about so many seconds."""
    failed: list[Row] = []
    made: list[tuple[Row, Play, int, list[float]]] = []
    for peer in candidates:
        key = {name: value for name, value in peer._asdict().items() if name != "make"}
        try:
            play = peer.make(peer.num_envs)
            play(WARM_UP_STEPS * peer.num_envs)
            made.append((key, play, _steps_for(peer.measure, play, seconds), []))
        except Exception as error:  # a broken peer must not cost the others their rows
            traceback.print_exc()
            failed.append(key | {"error": repr(error)})
    for _ in range(turns):
        for key, play, steps, speeds in made:
            played, taken = _time(key["measure"], play, steps)
            speeds.append(played / taken)
    run = now()
    return [summary_row(key, speeds, run) for key, _, _, speeds in made] + failed


def summary_row(key: Row, values: Sequence[float], run: str) -> Row:
    return key | {"package_version": version(key["package"])} | statistics_of(values) | {"run": run}


def statistics_of(values: Sequence[float]) -> Row:
    row = {"value": statistics.median(values), "low": min(values), "high": max(values)}
    return {name: float(f"{n:.4g}") for name, n in row.items()} | {"turns": len(values)}


def now() -> str:
    """Return the time, which names a run: only rows of one run are compared."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _time(measure: str, play: Play, steps: int) -> tuple[int, float]:
    clock = CLOCKS[measure]
    began = clock()
    return play(steps), clock() - began


def _steps_for(measure: str, play: Play, seconds: float) -> int:
    steps = 1000
    while True:
        played, taken = _time(measure, play, steps)
        if taken > seconds / 10:
            return round(played * seconds / taken)
        steps = 4 * played
