"""Makes the rows of jobs, each kind of experiment in its own way."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.exact_tictactoe import Policy, outcome, policy_of
from baselines.evaluation.sampled import evaluate
from baselines.registry import Player, make_agent, searching
from baselines.search.placing import ValuePlacer
from baselines.task import Task
from baselines.training.presets import tuned
from benchmarks.experiments import SIDES
from benchmarks.jobs import Job
from benchmarks.kinds import OWN_VALUES, Exact, Experiment, Measure, Sampled
from benchmarks.results import Row, machine
from benchmarks.trained import folder_of, learned, settings_of, trained
from tile_envs.agents import Agent

NAMING = ("agent", "env", "env_kwargs", "side")
"""Columns of an exact evaluation that name what is evaluated."""
SEED = 0
"""Seed of the games that are evaluated, and of agents that are not trained."""

Policies = dict[tuple[str, str], Policy]
"""The policies of agents, by label and side: every agent of a table of pairings needs them all."""


class JobResult(NamedTuple):
    """What has become of a job.

    Attributes:
        job: The job.
        rows: Its rows; if it has failed, each says why in a column `error`.
        error: Why it has failed; empty if it has not.
    """

    job: Job
    rows: list[Row]
    error: str = ""


def result_of(job: Job, runs: Path, policies: Policies) -> JobResult:
    """Make the rows of a job, quietly.

    Args:
        job: The job.
        runs: The folder of the training runs.
        policies: Kept from job to job.

    Raises:
        KeyboardInterrupt: If it is interrupted.
    """
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            return JobResult(job, _made(job, runs, policies))
    except Exception as error:  # hours of other jobs must not be lost
        return failed(job, error)


def failed(job: Job, error: Exception) -> JobResult:
    """Return the result of a job that an error has ended."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return JobResult(job, [name | {"error": text} for name in job.names], text)


def _made(job: Job, runs: Path, policies: Policies) -> list[Row]:
    each = job.experiment
    if isinstance(each, Measure):
        rows: list[Row] = import_module(each.path).rows(**each.options)
        return rows
    if job.pairs:
        return _pairing_rows(job, runs, policies)
    if isinstance(each.evaluations, Exact):
        return _exact_rows(job, each, runs)
    assert job.way is not None
    if not each.trained:
        return [_played_row(each, job.names[0]["env_kwargs"], job.way)]
    player = trained(each, job.seed, job.budget, runs)
    return [job.names[0] | _learning_row(each, player, job.way)]


def _exact_rows(job: Job, each: Experiment, runs: Path) -> list[Row]:
    agent = _agent(each, runs, job.seed)
    seconds = round(learned(folder_of(each, job.seed, runs)), 1) if each.trained else 0.0
    return [name | _exactly(agent, each, name["side"]) | {"seconds": seconds} for name in job.names]


def _pairing_rows(job: Job, runs: Path, policies: Policies) -> list[Row]:
    rows = []
    for name, (x, o) in zip(job.names, job.pairs, strict=True):
        for each in (x, o):
            if (each.label, SIDES[0]) not in policies:
                agent = _agent(each, runs)
                policies |= {(each.label, side): policy_of(agent, side) for side in SIDES}
        shares = outcome(policies[x.label, "X"], policies[o.label, "O"])
        rows.append(name | {"x_wins": shares.win, "draws": shares.draw, "o_wins": shares.loss})
    return rows


def _agent(each: Experiment, runs: Path, seed: int = SEED) -> Agent:
    if each.trained:
        return trained(each, seed, None, runs).agent
    game = Task.of(each.env, each.env_kwargs or {}).game
    return make_agent(each.agent, game, seed=seed, **each.agent_kwargs)


def _played_row(each: Experiment, options: dict[str, Any], way: Sampled) -> Row:
    """Return the row of an agent that is not trained; its preset may say how it is evaluated."""
    preset = tuned(each.agent, each.env, each.preset)
    agent = make_agent(each.agent, Task.of(each.env, options).game, SEED)
    episodes, width = preset.get("episodes", way.episodes), preset.get("bins")
    row = evaluate(agent, each.env, options, episodes, SEED, name=each.agent, bins=width)
    return row | {"preset": each.preset}


def _learning_row(each: Experiment, player: Player, way: Sampled) -> Row:
    """Return the columns of a learner's row beside those that name it."""
    learner: Any = player.agent
    agent, threads, task = learner, settings_of(each).threads, player.task
    if way.depth > 1:
        options = {"threads": 1 if way.samples else threads, "samples": way.samples}
        agent = searching(player, way.depth, options).agent
    options = dict(task.env_kwargs)
    if way.placer:
        own = ValuePlacer(learner, task.game) if way.placer == OWN_VALUES else way.placer
        options["placer"] = own
    row = evaluate(agent, task.env, options, way.episodes, SEED, name=each.agent)
    row["env_kwargs"] = task.env_kwargs
    return {"threads": threads, "games_learned": learner.games} | row | {"machine": machine()}


def _exactly(agent: Agent, each: Experiment, side: str | None) -> Row:
    """Return what exact evaluation says of an agent beside what names its row."""
    options = {**(each.env_kwargs or {}), **({"side": side} if side else {})}
    row = evaluate_exactly(agent, each.env, options)
    return {key: value for key, value in row.items() if key not in NAMING}
