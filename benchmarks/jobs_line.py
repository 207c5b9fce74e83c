"""The progress of jobs."""

from __future__ import annotations

from collections.abc import Sequence

from baselines.progress import Progress
from benchmarks.jobs import Job
from tile_envs.words import counted


class JobsLine(Progress):
    """The progress of jobs, by the minutes that they are expected to take.

    Args:
        jobs: All of them.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        super().__init__("jobs", sum(job.minutes for job in jobs), shown=True)
        self._jobs, self._done_jobs, self._minutes = jobs, 0, 0.0

    def begin(self, job: Job) -> None:
        """Tell that a job begins."""
        self._tell(str(job))

    def done(self, job: Job) -> None:
        """Tell that a job has ended."""
        self._done_jobs, self._minutes = self._done_jobs + 1, self._minutes + job.minutes
        self._tell()

    def _tell(self, *words: str) -> None:
        ended = f"{self._done_jobs:,} of {counted(len(self._jobs), 'job')}"
        self.update(self._minutes, ", ".join([ended, *words]))
