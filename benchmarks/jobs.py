"""Experiments and their jobs: which rows are made together, by whom, and for how long."""

from __future__ import annotations

import io
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import KW_ONLY, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.results import Key, Plan, Row, key_of
from benchmarks.training import file_name

Wanted = dict[Key, int]
"""By what names a row, the version of what makes it."""


class PlannedRow(NamedTuple):
    """A row that is to be made: what names it, the version of its maker, and what that needs."""

    name: Row
    version: int
    how: Any = None


@dataclass(frozen=True)
class Experiment(ABC):
    """What makes rows of a table.

    Attributes:
        label: Its name in the table.
        cost: Minutes on two cores that it takes beside the training by minutes.
        memory: GiB that it takes at most.
        quick: What differs in the short list, where mappings are added to those here; None leaves
            it out of that list.
    """

    table: str
    label: str
    _: KW_ONLY
    cost: float = 0.0
    memory: float = 1.0
    quick: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.table}/{self.label}"

    @abstractmethod
    def plan(self, experiments: Sequence[Experiment]) -> Iterator[Job]:
        """Yield the jobs, in the order in which agents are trained, without the `cost`.

        Of all experiments, those of one table of pairings meet each other.
        """

    @abstractmethod
    def rows(self, job: Job, runs: Path) -> list[Row]:
        """Make the rows of one of its jobs, with a folder for training runs."""

    @abstractmethod
    def describe(self) -> str:
        """Return what is played, or what has to be installed."""

    @property
    def total_minutes(self) -> float:
        """How many minutes it takes, from nothing, on two cores."""
        return self.cost

    def jobs(self, experiments: Sequence[Experiment]) -> list[Job]:
        """Return the jobs of its rows; see `plan`."""
        jobs = [job for job in self.plan(experiments) if job.rows]
        return [replace(job, minutes=job.minutes + self.cost / len(jobs)) for job in jobs]

    def wanted(self, experiments: Sequence[Experiment]) -> Wanted:
        """Return its rows."""
        return {key: v for job in self.jobs(experiments) for key, v in job.wanted.items()}

    def shorten(self) -> Experiment:
        """Return the experiment of the short list."""
        changes: dict[str, Any] = {
            name: {**getattr(self, name), **value} if isinstance(value, Mapping) else value
            for name, value in (self.quick or {}).items()
        }
        return replace(self, **changes)


@dataclass(frozen=True)
class Job:
    """Rows of an experiment that one process makes together.

    Attributes:
        budget: The training budget in minutes of learning; None is that in games.
        minutes: About how long it takes.
        whole: Whether all rows are made if one is missing, so that they come from one machine at
            one time.
    """

    experiment: Experiment
    rows: tuple[PlannedRow, ...]
    seed: int = 0
    budget: float | None = None
    minutes: float = 0.0
    whole: bool = False

    def __str__(self) -> str:
        return str(self.experiment)

    @property
    def wanted(self) -> Wanted:
        """Its rows, by what names them."""
        return {key_of(self.experiment.table, row.name): row.version for row in self.rows}

    def without(self, made: Wanted) -> Job:
        """Return the job of the rows that have not been made."""
        keys = zip(self.rows, self.wanted, strict=True)
        missing = tuple(row for row, key in keys if key not in made)
        return self if missing and self.whole else replace(self, rows=missing)

    def make(self, runs: Path) -> JobResult:
        """Make the rows, quietly; if one fails, what was printed goes to a log in `runs`."""
        output = io.StringIO()
        try:
            with redirect_stdout(output), redirect_stderr(output):
                result = JobResult(self, self.experiment.rows(self, runs))
        except Exception as error:  # hours of other jobs must not be lost
            output.write(traceback.format_exc())
            result = self.fail(error)
        if any(row.get("error") for row in result.rows):
            name = file_name(f"{self.experiment.table} {self.experiment.label} {self.seed}.log")
            with (runs / name).open("a", encoding="utf-8") as log:
                log.write(output.getvalue())
        return result

    def fail(self, error: Exception) -> JobResult:
        """Return the result of a job that an error has ended: its rows say so in one line."""
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return JobResult(self, [row.name | {"error": text} for row in self.rows])


class JobResult(NamedTuple):
    """A job, and its rows; one that could not be made says why in a column `error`."""

    job: Job
    rows: list[Row]


Executor = Callable[[Sequence[Job], Path, Callable[[Job], object]], Iterator[JobResult]]
"""Does jobs, given the folder of the training runs: calls a function with each job that begins,
where it can tell, and yields the result of each as soon as it is known.

Jobs of one training run are done one after the other, in their order.
"""


@dataclass(frozen=True)
class Measure(Experiment):
    """A measure of a module, such as one of speed.

    Attributes:
        path: The module in this package, with a function `plan(**options)`.
        options: The arguments of that function.
        measure: What its rows have in their column `measure`, if the table has others.
        extra: The extra of the package without which it has no rows.
        version: Raised when its results change.
    """

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    measure: str = ""
    extra: str = ""
    version: int = 1

    def plan(self, experiments: Sequence[Experiment]) -> Iterator[Job]:
        """Yield one job."""
        names = self._plan().names
        yield Job(self, tuple(PlannedRow(name, self.version) for name in names), whole=True)

    def rows(self, job: Job, runs: Path) -> list[Row]:
        """Measure."""
        return self._plan().make()

    def _plan(self) -> Plan:
        plan: Plan = import_module(f"benchmarks.{self.path}").plan(**self.options)
        return plan

    def describe(self) -> str:
        """Return what has to be installed, if anything."""
        return "" if self.jobs(()) else f"needs pip install 'tile-envs[{self.extra}]'"
