"""The rows that experiments have: what names each of them, and its present version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from baselines.hyperparams import tuned
from baselines.task import Task
from benchmarks.kinds import Exact, Experiment, Measure, Pairings, Sampled
from benchmarks.results import Key, Row, key_of
from benchmarks.versions import SEARCH, makers_of, version_of

Wanted = dict[Key, int]
"""By what names a row, the version of what makes it."""


def wanted(each: Experiment | Measure, experiments: Sequence[Experiment | Measure]) -> Wanted:
    """Return the rows of an experiment.

    Args:
        each: The experiment.
        experiments: All of them; those of one table of pairings meet each other.
    """
    if isinstance(each, Measure):
        rows = import_module(each.path).keys(**each.options)
        return {key_of(each.table, row): each.version for row in rows}
    if isinstance(each.evaluations, Exact):
        rows = exact_names(each)
        return {key_of(each.table, row): version_of(each.agent) for row in rows}
    if isinstance(each.evaluations, Pairings):
        return {
            key_of(each.table, {"x": x.label, "o": o.label}): version_of(x.agent, o.agent)
            for x, o in pairs(each, experiments)
        }
    if not each.trained:
        return {key_of(each.table, played_name(each)): version_of(each.agent)}
    found: Wanted = {}
    for seed in range(each.seeds):
        for minutes, way in occasions(each):
            makers = makers_of(each) + ([SEARCH] if way.depth > 1 else [])
            key = key_of(each.table, learning_name(each, seed, minutes, way))
            found[key] = version_of(*makers)
    return found


def exact_names(each: Experiment) -> list[Row]:
    """Return the columns that name the rows of an exact evaluation."""
    sides = Task.of(each.env).game.sides or (None,)
    options = {"env": each.env, "env_kwargs": each.env_kwargs or {}}
    return [
        {"label": each.label, "seed": seed, "side": side} | ({} if side else options)
        for seed in range(each.seeds)
        for side in sides
    ]


def pairs(
    each: Experiment, experiments: Sequence[Experiment | Measure]
) -> Iterator[tuple[Experiment, Experiment]]:
    """Yield an experiment with every one of its table, as X and as O."""
    for other in experiments:
        if isinstance(other, Experiment) and other.table == each.table:
            yield each, other
            if other is not each:
                yield other, each


def played_name(each: Experiment) -> Row:
    """Return the columns that name the row of an agent that is not trained."""
    name = {"agent": each.agent, "env": each.env, "env_kwargs": played_options(each)}
    return name | {"preset": each.preset}


def played_options(each: Experiment) -> dict[str, Any]:
    """Return the environment's options of an agent that is not trained."""
    return dict(tuned(each.agent, each.env, each.preset).get("env_kwargs", {})) | dict(
        each.env_kwargs or {}
    )


def occasions(each: Experiment) -> Iterator[tuple[float | None, Sampled]]:
    """Yield when a learner is evaluated, in minutes of learning, and how."""
    ways = each.evaluations
    assert isinstance(ways, tuple)
    budgets: tuple[float | None, ...] = each.minutes or (None,)
    for minutes in budgets:
        for way in ways if minutes == budgets[-1] else ways[:1]:
            yield minutes, way


def learning_name(each: Experiment, seed: int, minutes: float | None, way: Sampled) -> Row:
    """Return the columns that name the row of a learner."""
    name: Row = {"label": each.label, "train_seed": seed, "minutes": minutes}
    name |= {"depth": way.depth, "samples": way.samples}
    name |= {"placer": way.placer} if way.placer else {}
    return name | {"agent": each.agent, "env": each.env}


def is_current(row: Mapping[str, Any], version: int) -> bool:
    """Tell whether a row of a file was made by this version."""
    return row.get("version") == str(version)
