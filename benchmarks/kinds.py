"""The kinds of experiments with agents: each says which rows it has, and makes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.exact_tictactoe import outcome, policy_of
from baselines.evaluation.policy import Policy
from baselines.evaluation.sampled import evaluate, play, summary
from baselines.registry import make_agent
from baselines.search.compiled_expectimax import CompiledSearch
from baselines.search.expectimax import Expectimax
from baselines.search.placing import ValuePlacer
from baselines.task import Task
from benchmarks.jobs import Experiment, Job, PlannedRow
from benchmarks.results import Row, machine
from benchmarks.training import Training, version_of
from tile_envs.agents import Agent

OWN_VALUES = "own values"
"""A placer of tiles that minimizes the values of the agent that it plays against."""
SEED = 0
"""Seed of the games that are evaluated, and of agents that are not trained."""
SIDES = ("X", "O")


@dataclass(frozen=True)
class AgentExperiment(Training, Experiment):
    """An agent that is evaluated, after its training if it learns.

    Attributes:
        agent_kwargs: The options of an agent that is not trained.
        seeds: Number of training seeds, from 0 on.
    """

    _: KW_ONLY
    agent_kwargs: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1

    def make(self, seed: int, runs: Path) -> Agent:
        """Return the agent, trained by its budget in games if it learns."""
        if self.learns:
            return self.train(seed, None, runs).agent
        game = Task.of(self.env, self.env_kwargs).game
        return make_agent(self.agent, game, seed=seed, **self.agent_kwargs)

    def trainings(self, job: Job) -> Iterable[Training]:
        """Return what is trained for a job, besides other things."""
        return (self,)

    def describe(self) -> str:
        """Return what is played, and the preset."""
        options = (f"{name}={value}" for name, value in (self.env_kwargs or {}).items())
        return " ".join([self.env, *options, *([self.preset] if self.preset else [])])


@dataclass(frozen=True)
class Sampled(AgentExperiment):
    """Games of an agent that is not trained.

    Attributes:
        bins: The width of the bins in which scores are counted; None counts none.
    """

    _: KW_ONLY
    episodes: int = 10_000
    bins: int | None = None

    def plan(self, experiments: Sequence[Experiment]) -> Iterator[Job]:
        """Yield one job of one row."""
        name: Row = {"agent": self.agent, "env": self.env}
        name |= {"env_kwargs": dict(self.env_kwargs or {}), "preset": self.preset}
        yield Job(self, (PlannedRow(name, self.version),))

    def rows(self, job: Job, runs: Path) -> list[Row]:
        """Play the games."""
        agent = self.make(SEED, runs)
        record = play(agent, self.env, self.env_kwargs, self.episodes, SEED)
        row = summary(record, self.agent, self.env, self.env_kwargs or {}, SEED)
        if self.bins:
            begins, counts = np.unique(record.returns // self.bins * self.bins, return_counts=True)
            row["bins"] = dict(zip(begins.astype(int).tolist(), counts.tolist(), strict=True))
        return [row | {"preset": self.preset}]


class Games(NamedTuple):
    """Games in which a learner is evaluated.

    Attributes:
        depth: Moves that a search looks ahead; 1 is the agent alone.
        samples: New tiles that the search draws for each afterstate; 0 weighs all of them.
        placer: Who places the new tiles, if not as in training: random, adversary, or `OWN_VALUES`.
        milliseconds: The time that the search has for a move.
        downgrade: The tile from which on the search downgrades boards.
    """

    episodes: int
    depth: int = 1
    samples: int = 0
    placer: str | None = None
    milliseconds: float | None = None
    downgrade: int | None = None


@dataclass(frozen=True)
class Learning(AgentExperiment):
    """A learner, evaluated after several budgets.

    Attributes:
        evaluations: The games at the last budget; at earlier ones only the first of them.
        minutes: The training budgets in minutes of learning; none is one budget in games.
    """

    _: KW_ONLY
    evaluations: tuple[Games, ...]
    minutes: tuple[float, ...] = ()

    @property
    def total_minutes(self) -> float:
        """How many minutes it takes, from nothing, on two cores."""
        return max(self.minutes, default=0) * self.seeds + self.cost

    def plan(self, experiments: Sequence[Experiment]) -> Iterator[Job]:
        """Yield a job for each seed, budget and kind of games."""
        budgets: tuple[float | None, ...] = self.minutes or (None,)
        for seed in range(self.seeds):
            learned = 0.0
            for budget in budgets:
                for games in self.evaluations if budget == budgets[-1] else self.evaluations[:1]:
                    row = self._row(seed, budget, games)
                    yield Job(self, (row,), seed, budget, (budget or 0.0) - learned)
                    learned = budget or 0.0

    def rows(self, job: Job, runs: Path) -> list[Row]:
        """Train the agent up to a budget, and let it play."""
        ((name, _, games),) = job.rows
        player = self.train(job.seed, job.budget, runs)
        learner: Any = player.agent
        agent, threads, task = learner, self.options().settings.threads, player.task
        if games.depth > 1:
            search: Row = {"threads": 1 if games.samples else threads, "samples": games.samples}
            search |= {"milliseconds": games.milliseconds, "downgrade": games.downgrade}
            agent = Expectimax(learner, task.game, games.depth, **search)
        options = dict(task.env_kwargs)
        if games.placer:
            is_own = games.placer == OWN_VALUES
            options["placer"] = ValuePlacer(learner, task.game) if is_own else games.placer
        row = evaluate(agent, task.env, options, games.episodes, SEED, name=self.agent)
        row["env_kwargs"] = task.env_kwargs
        learned: Row = {"threads": threads, "games_learned": learner.games}
        if games == self.evaluations[0]:
            learned["curve"] = self.curve(job.seed, runs)
        return [name | learned | row | {"machine": machine()}]

    def _row(self, seed: int, budget: float | None, games: Games) -> PlannedRow:
        search = CompiledSearch if self.agent == "ntuple" else Expectimax
        version = version_of(self.version, search.version if games.depth > 1 else 1)
        name: Row = {"label": self.label, "train_seed": seed, "minutes": budget}
        name |= {key: value for key, value in games._asdict().items() if value is not None}
        del name["episodes"]  # it is of the result
        return PlannedRow(name | {"agent": self.agent, "env": self.env}, version, games)


@dataclass(frozen=True)
class Exact(AgentExperiment):
    """Exact evaluation: in tic-tac-toe of each side, in the sliding games of the score."""

    def plan(self, experiments: Sequence[Experiment]) -> Iterator[Job]:
        """Yield a job for each seed."""
        sides = Task.of(self.env).game.sides
        options = {"env": self.env, "env_kwargs": self.env_kwargs or {}}
        for seed in range(self.seeds):
            names: list[Row] = [
                {"label": self.label, "seed": seed, "side": side} | ({} if side else options)
                for side in sides or (None,)
            ]
            yield Job(self, tuple(PlannedRow(name, self.version) for name in names), seed)

    def rows(self, job: Job, runs: Path) -> list[Row]:
        """Evaluate the agent of a seed."""
        agent, rows = self.make(job.seed, runs), []
        seconds = round(self.seconds(job.seed, runs), 1) if self.learns else 0.0
        for name, *_ in job.rows:
            side = {"side": name["side"]} if name["side"] else {}
            row = evaluate_exactly(agent, self.env, {**(self.env_kwargs or {}), **side})
            for column in ("agent", "env", "env_kwargs", "side"):
                del row[column]  # in the table they are what names the row
            rows.append(name | row | {"seconds": seconds})
        return rows


_policies: dict[tuple[Path, str, str], Policy] = {}
"""By runs, label and side: an agent of a table of pairings is asked once in a process."""


@dataclass(frozen=True)
class Pairings(AgentExperiment):
    """Exact results of tic-tac-toe against every agent of the same table."""

    def plan(self, experiments: Sequence[Experiment]) -> Iterator[Job]:
        """Yield one job: this agent as X and as O."""
        agents = [e for e in experiments if isinstance(e, Pairings) and e.table == self.table]
        pairs = [(self, other) for other in agents]
        pairs += [(other, self) for other in agents if other is not self]
        names = [{"x": x.label, "o": o.label} for x, o in pairs]
        versions = [version_of(x.version, o.version) for x, o in pairs]
        yield Job(self, tuple(map(PlannedRow, names, versions, pairs)))

    def rows(self, job: Job, runs: Path) -> list[Row]:
        """Return how the games of each pair end."""
        rows = []
        for name, _, (x, o) in job.rows:
            shares = outcome(x.policy("X", runs), o.policy("O", runs))
            rows.append(name | {"x_wins": shares.win, "draws": shares.draw, "o_wins": shares.loss})
        return rows

    def policy(self, side: str, runs: Path) -> Policy:
        """Return what the agent plays on a side."""
        if (runs, self.label, side) not in _policies:
            agent = self.make(SEED, runs)
            _policies.update({(runs, self.label, s): policy_of(agent, s) for s in SIDES})
        return _policies[runs, self.label, side]

    def trainings(self, job: Job) -> Iterable[Training]:
        """Return the agents of a job's pairs."""
        return (agent for row in job.rows for agent in row.how)
