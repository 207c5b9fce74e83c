"""The line under which jobs are done, with the time that is left."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from tqdm import tqdm

from baselines.line import Line, duration, time_left
from benchmarks.jobs import Job
from tile_envs.words import counted


class JobsLine(Line):
    """The line under which jobs are done.

    Args:
        jobs: All of them.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        super().__init__()
        self._jobs = jobs
        self._done: list[Job] = []
        self._current: list[tuple[Job, float]] = []  # with the time when it began
        self._began = time.monotonic()

    def begin(self, job: Job) -> None:
        """Tell that a job begins."""
        self._current = [(job, time.monotonic())]
        self.draw()

    def done(self, job: Job) -> None:
        """Tell that a job has ended."""
        self._current = []
        self._done.append(job)

    def say(self, text: str) -> None:
        """Print a line above this one."""
        tqdm.write(text)

    def _parts(self) -> list[str]:
        now, current = time.monotonic(), self._current
        minutes = sum(job.minutes for job in self._done)
        minutes += sum(_most((now - began) / 60, job.minutes) for job, began in current)
        share = minutes / max(sum(job.minutes for job in self._jobs), 1e-9)
        parts = [f"{len(self._done):,} of {counted(len(self._jobs), 'job')}", f"{share:.0%}"]
        parts += time_left(now - self._began, share)
        return [*parts, *(f"{job} {duration(now - began)}" for job, began in current)]


def _most(minutes: float, expected: float) -> float:
    """Return how much of the expected minutes is done: never all of it, however long it takes."""
    return expected * -math.expm1(-minutes / expected) if expected else 0.0
