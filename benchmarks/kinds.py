"""The kinds of experiments: each says which rows it asks for, and how they are made."""

from __future__ import annotations

import io
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from baselines.agents import Task
from baselines.evaluation import exact, policies, sampled
from baselines.evaluation.parts import in_parts
from baselines.search.compiled_expectimax import CompiledSearch
from baselines.search.expectimax import Expectimax
from baselines.search.placing import ValuePlacer
from baselines.training.config import key_of, normal
from benchmarks.results import SEARCH, SEED, Row, digest_of, made_now
from benchmarks.training import Training, version_of

OWN_VALUES = "own values"  # a placer that minimizes the values of the agent that it faces


@dataclass(frozen=True)
class Wanted:
    """A row that an experiment asks for, or all rows of a measure, which are made at one time.

    Attributes:
        name: The columns that name the row; of a measure none, as they depend on the machine.
        record: What decides it; `key` is its hash.
        make: Makes it, given the folder of the training runs.
        run: What its training shares with other rows, which are made in the same process.
        needs: What has to be installed before it can be made; "" if nothing.
    """

    table: str
    label: str
    name: Row
    record: Row
    make: Callable[[Path], list[Row]]
    run: str = ""
    needs: str = ""

    @cached_property
    def key(self) -> str:
        return key_of(self.record)

    def __str__(self) -> str:
        return f"{self.table}/{self.label}"

    def made(self, runs: Path) -> list[Row]:
        """Make it, quietly; if something fails, what was printed goes to a log in `runs`."""
        output, began = io.StringIO(), time.perf_counter()
        try:
            with redirect_stdout(output), redirect_stderr(output):
                rows = self.make(runs)
        except Exception as error:  # hours of other rows must not be lost
            output.write(traceback.format_exc())
            rows = self.failed(error)
        by = made_now(self.record, time.perf_counter() - began)
        if any(row.get("error") for row in rows):
            name = f"{self}.log".replace("/", "-").replace(" ", "-")
            with (runs / name).open("a", encoding="utf-8") as log:
                log.write(output.getvalue())
        return [self.name | row | by for row in rows]

    def failed(self, error: Exception) -> list[Row]:
        """Return its row where it could not be made."""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return [self.name | {"error": reason} | made_now(self.record, 0.0)]


Executor = Callable[[Sequence[Wanted], Path], Iterator[tuple[Wanted, list[Row]]]]
"""Makes rows, given the folder of the training runs, and yields those of each as they are known."""


@dataclass(frozen=True)
class Experiment(ABC):
    """What asks for rows of a table, by the label that it has there."""

    label: str

    @abstractmethod
    def rows(self, table: str) -> Iterator[Wanted]:
        """Yield what it asks for, in the order in which agents are trained."""


class Games(NamedTuple):
    """Games in which an agent is evaluated.

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

    @property
    def searches(self) -> bool:
        """Whether a search plays, not the agent alone."""
        return self.depth > 1 or self.downgrade is not None


@dataclass(frozen=True)
class Sampled(Experiment):
    """Games of an agent, if it learns after several budgets.

    Attributes:
        evaluations: The games after the last budget; after earlier ones only the first of them.
        seeds: Number of training seeds, from 0 on.
    """

    training: Training
    evaluations: tuple[Games, ...]
    _: KW_ONLY
    seeds: int = 1

    def rows(self, table: str) -> Iterator[Wanted]:
        training, budgets = self.training, self.training.minutes or (None,)
        about: Row = {"label": self.label, "agent": training.agent, "env": training.env}
        about["env_kwargs"] = training.options
        for seed in range(self.seeds):
            run = training.name(seed) if training.learns else ""
            for minutes in budgets:
                for games in self.evaluations[: None if minutes == budgets[-1] else 1]:
                    name = about | {"train_seed": seed, "minutes": minutes} | games._asdict()
                    del name["episodes"]
                    record = normal(training.record(seed, minutes) | self._decisive(games))
                    make = partial(self._play, record, games)
                    yield Wanted(table, self.label, name, record, make, run)

    def _cores(self, games: Games) -> int:
        return 1 if games.depth == 1 or games.samples else self.training.threads

    def _decisive(self, games: Games) -> Row:
        usual = Games(0)._asdict()
        decisive: Row = {n: v for n, v in games._asdict().items() if v != usual[n]}
        decisive |= {"measure": "sampled", "measure_version": sampled.VERSION}
        if games.searches:
            is_compiled = self.training.agent == "ntuple" and not games.samples
            search = version_of(CompiledSearch if is_compiled else Expectimax)
            decisive |= {"search_version": search, "threads": self._cores(games)}
        if games.placer == OWN_VALUES:
            decisive["placer_version"] = version_of(ValuePlacer)
        return decisive

    def _play(self, record: Row, games: Games, runs: Path) -> list[Row]:
        training, cores = self.training, self._cores(games)
        player = training.train(seed := record["seed"], record.get("minutes"), runs)
        agent, task, row = player.agent, player.task, {"cores": cores}
        options = dict(task.env_kwargs)
        if games.placer:
            is_own = games.placer == OWN_VALUES
            options["placer"] = ValuePlacer(agent, task.game) if is_own else games.placer
        if training.learns:
            row |= training.learned(seed, runs, with_curve=games == self.evaluations[0])
        if games.searches:
            search = {name: getattr(games, name) for name in SEARCH}
            agent = Expectimax(agent, task.game, threads=cores, **search)
        play = partial(sampled.play, agent, task.env, options, seed=SEED)
        # A part takes half an hour in 2048: a 3-ply search a millisecond a move, a 4-ply one 20.
        milliseconds = games.milliseconds or 20.0 ** (games.depth - 3)
        folder = runs / training.name(seed) if training.learns else runs
        size, file = max(2, int(200 / milliseconds)), folder / f"{key_of(record)}.csv"
        played = in_parts(play, task.game, games.episodes, size, file)
        row |= sampled.summary(played, training.agent, task.env, task.env_kwargs, SEED)
        return [{n: value for n, value in row.items() if n not in ("env_kwargs", "side")}]


@dataclass(frozen=True)
class Exact(Experiment):
    """Exact evaluation: in tic-tac-toe of each side, in the sliding games of the score."""

    training: Training
    _: KW_ONLY
    seeds: int = 1

    def rows(self, table: str) -> Iterator[Wanted]:
        training = self.training
        about = {"label": self.label, "env": training.env, "env_kwargs": training.options}
        for seed in range(self.seeds):
            record = training.record(seed) | {"measure": "exact", "measure_version": exact.VERSION}
            run = training.name(seed) if training.learns else ""
            for side in Task.of(training.env).game.sides or (None,):
                name = about | {"seed": seed, "side": side}
                make = partial(self._evaluate, seed, side)
                of_side = record | ({"side": side} if side else {})
                yield Wanted(table, self.label, name, of_side, make, run)

    def _evaluate(self, seed: int, side: str | None, runs: Path) -> list[Row]:
        training = self.training
        agent = training.train(seed, None, runs).agent
        options = {**(training.env_kwargs or {}), **({"side": side} if side else {})}
        row = exact.evaluate_exactly(agent, training.env, options)
        for column in ("agent", "env", "env_kwargs", "side"):
            del row[column]  # in the table they are what names the row
        seconds = float(training.progress(seed, runs)[-1]["seconds"]) if training.learns else 0.0
        return [row | {"training_seconds": round(seconds, 1)}]


@dataclass(frozen=True)
class Pairings(Experiment):
    """Exact results of tic-tac-toe of one of several agents, as X, against each of them."""

    agents: Mapping[str, Training]

    def rows(self, table: str) -> Iterator[Wanted]:
        measure = {"measure": "pairing", "measure_version": exact.VERSION}
        for other, training in self.agents.items():
            players = {"x": self.agents[self.label].record(SEED), "o": training.record(SEED)}
            name, make = {"x": self.label, "o": other}, partial(self._meet, other)
            yield Wanted(table, self.label, name, measure | players, make, table)

    def _meet(self, other: str, runs: Path) -> list[Row]:
        x, o = self._policy(self.label, "X", runs), self._policy(other, "O", runs)
        shares = policies.outcome(x, o)
        return [{"x_wins": shares.win, "draws": shares.draw, "o_wins": shares.loss}]

    def _policy(self, label: str, side: str, runs: Path) -> Any:
        if (runs, label) not in _policies:
            agent = self.agents[label].train(SEED, None, runs).agent
            _policies[runs, label] = {each: policies.policy_of(agent, each) for each in "XO"}
        return _policies[runs, label][side]


_policies: dict[tuple[Path, str], dict[str, Any]] = {}
"""By runs and label, then by side: an agent of a table of pairings is asked once in a process."""


@dataclass(frozen=True)
class Measure(Experiment):
    """A measure of a module, such as one of speed.

    Attributes:
        path: The module in this package, with a function `measure(**options)`.
        options: The arguments of that function.
        code: The modules that it measures: when their code changes, so does the key.
    """

    path: str
    code: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, table: str) -> Iterator[Wanted]:
        record = {"measure": self.path, "options": normal(self.options)}
        record["code"] = digest_of(*self.code, f"benchmarks.{self.path}")
        yield Wanted(table, self.label, {}, record, self._measure, table)

    def _measure(self, runs: Path) -> list[Row]:
        return list(import_module(f"benchmarks.{self.path}").measure(**self.options))


@dataclass(frozen=True)
class Trained(Experiment):
    """What the programs of a library learn; see `libraries.table`."""

    def rows(self, table: str) -> Iterator[Wanted]:
        from benchmarks.libraries.table import PROGRAMS

        for program in PROGRAMS:
            if program.library == self.label:
                about = table, self.label, program.name(), normal(program.decisive())
                yield Wanted(*about, lambda _, it=program: [it.make()], table, program.needs())
