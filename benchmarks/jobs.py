"""Jobs: rows of an experiment that one process makes together, with what they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from baselines.task import Task
from baselines.training.presets import tuned
from benchmarks.kinds import Exact, Experiment, Measure, Pairings, Sampled
from benchmarks.results import Key, Row, key_of
from benchmarks.versions import SEARCH, makers_of, version_of

Wanted = dict[Key, int]
"""By what names a row, the version of what makes it."""


@dataclass(frozen=True)
class Job:
    """Rows that are made together.

    Attributes:
        experiment: The experiment.
        names: For each row, the columns that name it.
        versions: For each row, the version of what makes it.
        minutes: About how long it takes.
        seed: The training seed.
        budget: The training budget in minutes of learning; None is that in games.
        way: How the agent is evaluated, if it is sampled.
        pairs: For each row, who plays X and O, in a table of pairings.
    """

    experiment: Experiment | Measure
    names: tuple[Row, ...]
    versions: tuple[int, ...]
    minutes: float = 0.0
    seed: int = 0
    budget: float | None = None
    way: Sampled | None = None
    pairs: tuple[tuple[Experiment, Experiment], ...] = ()

    def __str__(self) -> str:
        """Return its table and its label."""
        return f"{self.experiment.table}/{self.experiment.label}"

    @property
    def wanted(self) -> Wanted:
        """Its rows, by what names them."""
        keys = (key_of(self.experiment.table, name) for name in self.names)
        return dict(zip(keys, self.versions, strict=True))

    def without(self, made: Wanted) -> Job | None:
        """Return the job of the rows that have not been made, which may include others again.

        All rows of a measure are made together, so that they come from one machine at one time.
        """
        missing = [place for place, key in enumerate(self.wanted) if key not in made]
        if not missing or not self.pairs:
            return self if missing else None
        columns = (self.names, self.versions, self.pairs)
        names, versions, pairs = (tuple(column[i] for i in missing) for column in columns)
        return replace(self, names=names, versions=versions, pairs=pairs)


def jobs_of(each: Experiment | Measure, experiments: Sequence[Experiment | Measure]) -> list[Job]:
    """Return the jobs of an experiment, in the order in which its agents are trained.

    Args:
        each: The experiment.
        experiments: All of them; those of one table of pairings meet each other.
    """
    jobs = [job for job in _jobs(each, experiments) if job.names]
    return [replace(job, minutes=job.minutes + each.cost / len(jobs)) for job in jobs]


def _jobs(each: Experiment | Measure, experiments: Sequence[Experiment | Measure]) -> Iterator[Job]:
    if isinstance(each, Measure):
        names = tuple(import_module(each.path).keys(**each.options))
        yield Job(each, names, (each.version,) * len(names))
    elif isinstance(each.evaluations, Pairings):
        pairs = tuple(_pairs(each, experiments))
        names = tuple({"x": x.label, "o": o.label} for x, o in pairs)
        yield Job(each, names, tuple(version_of(x.agent, o.agent) for x, o in pairs), pairs=pairs)
    elif isinstance(each.evaluations, Exact):
        for seed in range(each.seeds):
            names = tuple(_exact_names(each, seed))
            yield Job(each, names, (version_of(each.agent),) * len(names), seed=seed)
    elif not each.trained:
        (way,) = each.evaluations
        yield Job(each, (_played_name(each),), (version_of(each.agent),), way=way)
    else:
        for seed in range(each.seeds):
            learned = 0.0
            for budget, way in _occasions(each):
                version = version_of(*makers_of(each), *([SEARCH] if way.depth > 1 else []))
                name = _learning_name(each, seed, budget, way)
                minutes, learned = (budget or 0.0) - learned, budget or 0.0
                yield Job(each, (name,), (version,), minutes, seed, budget, way)


def wanted(each: Experiment | Measure, experiments: Sequence[Experiment | Measure]) -> Wanted:
    """Return the rows of an experiment; see `jobs_of`."""
    return {key: v for job in jobs_of(each, experiments) for key, v in job.wanted.items()}


def is_current(row: Mapping[str, Any], version: int) -> bool:
    """Tell whether a row of a file was made by this version."""
    return row.get("version") == str(version)


def _exact_names(each: Experiment, seed: int) -> list[Row]:
    sides = Task.of(each.env).game.sides or (None,)
    options = {"env": each.env, "env_kwargs": each.env_kwargs or {}}
    return [
        {"label": each.label, "seed": seed, "side": side} | ({} if side else options)
        for side in sides
    ]


def _pairs(
    each: Experiment, experiments: Sequence[Experiment | Measure]
) -> Iterator[tuple[Experiment, Experiment]]:
    """Yield an experiment with every one of its table, as X and as O."""
    for other in experiments:
        if isinstance(other, Experiment) and other.table == each.table:
            yield each, other
            if other is not each:
                yield other, each


def _played_name(each: Experiment) -> Row:
    """Return what names the row of an agent that is not trained; its preset may have options."""
    options = dict(tuned(each.agent, each.env, each.preset).get("env_kwargs", {}))
    options |= each.env_kwargs or {}
    return {"agent": each.agent, "env": each.env, "env_kwargs": options, "preset": each.preset}


def _occasions(each: Experiment) -> Iterator[tuple[float | None, Sampled]]:
    """Yield when a learner is evaluated, in minutes of learning, and how."""
    ways = each.evaluations
    assert isinstance(ways, tuple)
    budgets: tuple[float | None, ...] = each.minutes or (None,)
    for minutes in budgets:
        for way in ways if minutes == budgets[-1] else ways[:1]:
            yield minutes, way


def _learning_name(each: Experiment, seed: int, minutes: float | None, way: Sampled) -> Row:
    name: Row = {"label": each.label, "train_seed": seed, "minutes": minutes}
    name |= {"depth": way.depth, "samples": way.samples}
    name |= {"placer": way.placer} if way.placer else {}
    return name | {"agent": each.agent, "env": each.env}
