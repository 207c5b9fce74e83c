"""The kinds of experiments: each says which rows it asks for, with their keys, and makes them."""

from __future__ import annotations

import io
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from baselines.agents import Task
from baselines.evaluation import exact, sampled
from baselines.evaluation.policies import Policy, outcome, policy_of
from baselines.search.compiled_expectimax import CompiledSearch
from baselines.search.expectimax import Expectimax
from baselines.search.placing import ValuePlacer
from baselines.training.config import key_of
from benchmarks.libraries import clients
from benchmarks.results import KEY, NAMES, SEED, Row, commit, machine, processor
from benchmarks.training import Training, version_of

OWN_VALUES = "own values"
"""A placer of tiles that minimizes the values of the agent that it plays against."""
SIDES = ("X", "O")


@dataclass(frozen=True)
class Wanted:
    """A row that an experiment asks for, or all rows of a measure, which are made at one time.

    Attributes:
        name: The columns that name the row; of a measure none, as they depend on the machine.
        key: The key of what decides it.
        make: Makes it, given the folder of the training runs.
        runs: The names of the training runs that it begins or resumes.
        minutes: About how long it takes.
    """

    experiment: Experiment
    name: Row
    key: str
    make: Callable[[Path], list[Row]]
    runs: frozenset[str] = frozenset()
    minutes: float = 0.0

    def made(self, runs: Path) -> list[Row]:
        """Make it, quietly; if something fails, what was printed goes to a log in `runs`."""
        output = io.StringIO()
        by = {KEY: self.key, "machine": machine(), "processor": processor(), "commit": commit()}
        try:
            with redirect_stdout(output), redirect_stderr(output):
                rows = [self.name | row | by for row in self.make(runs)]
        except Exception as error:  # hours of other rows must not be lost
            output.write(traceback.format_exc())
            rows = self.failed(error)
        if any(row.get("error") for row in rows):
            name = f"{self.experiment}.log".replace("/", "-").replace(" ", "-")
            with (runs / name).open("a", encoding="utf-8") as log:
                log.write(output.getvalue())
        return rows

    def failed(self, error: Exception) -> list[Row]:
        """Return a row that says why there is none, in one line, in a column `error`."""
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return [self.name | {KEY: self.key, "error": text}]


Executor = Callable[
    [Sequence[Wanted], Path, Callable[[Wanted], object]], Iterator[tuple[Wanted, list[Row]]]
]
"""Makes rows, given the folder of the training runs: calls a function with each that begins, where
it can tell, and yields the rows of each as soon as they are known.

Rows of one training run are made one after the other, in their order.
"""


@dataclass(frozen=True)
class Experiment(ABC):
    """What asks for rows of a table.

    Attributes:
        label: Its name in the table.
        cost: Minutes on two cores that it takes beside the training by minutes.
        memory: GiB that it takes at most.
        cores: How many cores it needs; None is a machine of its own.
        plays: What is played, if the label does not say it.
        needs: What has to be installed before its rows can be made; "" if nothing.
    """

    cores: ClassVar[Any] = None
    plays: ClassVar[Any] = ""
    needs: ClassVar[Any] = ""
    table: str
    label: str
    _: KW_ONLY
    cost: float = 0.0
    memory: float = 1.0

    def __str__(self) -> str:
        return f"{self.table}/{self.label}"

    @abstractmethod
    def rows(self, experiments: Sequence[Experiment]) -> Iterator[Wanted]:
        """Yield what it asks for, in the order in which agents are trained, without the `cost`.

        Of all experiments, those of one table of pairings meet each other.
        """

    def wanted(self, experiments: Sequence[Experiment]) -> list[Wanted]:
        """Return what it asks for; see `rows`."""
        rows = list(self.rows(experiments))
        return [replace(row, minutes=row.minutes + self.cost / len(rows)) for row in rows]


@dataclass(frozen=True)
class Evaluated(Experiment):
    """An agent that is evaluated, after its training if it learns."""

    training: Training

    @property
    def cores(self) -> int:
        """How many cores it needs."""
        return self.training.threads

    @property
    def plays(self) -> str:
        """What is played, and the preset."""
        training = self.training
        options = (f"{name}={value}" for name, value in (training.env_kwargs or {}).items())
        return " ".join(filter(None, [training.env, *options, training.preset]))


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
class Sampled(Evaluated):
    """Games of an agent, if it learns after several budgets.

    Attributes:
        evaluations: The games at the last budget; at earlier ones only the first of them.
        seeds: Number of training seeds, from 0 on.
        bins: The width of the bins in which scores are counted; None counts none.
    """

    evaluations: tuple[Games, ...]
    _: KW_ONLY
    seeds: int = 1
    bins: int | None = None

    def rows(self, experiments: Sequence[Experiment]) -> Iterator[Wanted]:
        """Yield a row for each seed, budget and kind of games."""
        training, budgets = self.training, self.training.minutes or (None,)
        about: Row = {"label": self.label, "agent": training.agent, "env": training.env}
        about |= {"env_kwargs": dict(training.env_kwargs or {}), "preset": training.preset}
        for seed in range(self.seeds):
            learned, runs = 0.0, training.runs(seed)
            for minutes in budgets:
                identity = training.identity(seed, minutes)
                for games in self.evaluations[: None if minutes == budgets[-1] else 1]:
                    columns = about | {"train_seed": seed, "minutes": minutes} | games._asdict()
                    name = {column: columns[column] for column in NAMES[self.table]}
                    key = key_of(identity, self._decisive(games))
                    make = partial(self._play, seed, minutes, games)
                    lasts = (minutes or 0.0) - learned
                    yield Wanted(self, name, key, make, runs, lasts)
                    learned = minutes or 0.0

    def _threads(self, games: Games) -> int:
        """Return the number of cores that play."""
        return 1 if games.depth == 1 or games.samples else self.training.threads

    def _decisive(self, games: Games) -> Row:
        """Return what of an evaluation decides its result."""
        decisive = games._asdict() | {"seed": SEED, "version": sampled.VERSION, "bins": self.bins}
        if games.searches:
            is_compiled = self.training.agent == "ntuple" and not games.samples
            search = version_of(CompiledSearch if is_compiled else Expectimax)
            decisive |= {"search": search, "threads": self._threads(games)}
        if games.placer == OWN_VALUES:
            decisive["placing"] = version_of(ValuePlacer)
        return decisive

    def _play(self, seed: int, minutes: float | None, games: Games, runs: Path) -> list[Row]:
        """Train the agent up to a budget, and let it play."""
        training, cores = self.training, self._threads(games)
        player = training.train(seed, minutes, runs)
        agent, task, row = player.agent, player.task, {"cores": cores}
        options = dict(task.env_kwargs)
        if games.placer:
            is_own = games.placer == OWN_VALUES
            options["placer"] = ValuePlacer(agent, task.game) if is_own else games.placer
        if training.learns:
            row |= training.in_words() | {"threads": training.threads}
            row |= training.learned(seed, runs, with_curve=games == self.evaluations[0])
        if games.searches:
            search: Row = {"threads": cores, "samples": games.samples}
            search |= {"milliseconds": games.milliseconds, "downgrade": games.downgrade}
            agent = Expectimax(agent, task.game, games.depth, **search)
        record = sampled.play(agent, task.env, options, games.episodes, SEED)
        row |= sampled.summary(record, training.agent, task.env, task.env_kwargs, SEED)
        if self.bins:
            begins, counts = np.unique(record.returns // self.bins * self.bins, return_counts=True)
            row["bins"] = dict(zip(begins.astype(int).tolist(), counts.tolist(), strict=True))
        return [row]


@dataclass(frozen=True)
class Exact(Evaluated):
    """Exact evaluation: in tic-tac-toe of each side, in the sliding games of the score."""

    _: KW_ONLY
    seeds: int = 1

    def rows(self, experiments: Sequence[Experiment]) -> Iterator[Wanted]:
        """Yield a row for each seed and side."""
        training = self.training
        for seed in range(self.seeds):
            identity, runs = training.identity(seed), training.runs(seed)
            for side in Task.of(training.env).game.sides or (None,):
                name: Row = {"label": self.label, "seed": seed, "side": side}
                if not side:
                    name |= {"env": training.env, "env_kwargs": training.env_kwargs}
                key = key_of(identity, side, exact.VERSION)
                yield Wanted(self, name, key, partial(self._evaluate, seed, side), runs)

    def _evaluate(self, seed: int, side: str | None, runs: Path) -> list[Row]:
        training = self.training
        agent = training.train(seed, None, runs).agent
        options = {**(training.env_kwargs or {}), **({"side": side} if side else {})}
        row = exact.evaluate_exactly(agent, training.env, options)
        for column in ("agent", "env", "env_kwargs", "side"):
            del row[column]  # in the table they are what names the row
        seconds = float(training.progress(seed, runs)[-1]["seconds"]) if training.learns else 0.0
        return [row | {"seconds": round(seconds, 1)}]


_policies: dict[tuple[Path, str, str], Policy] = {}
"""By runs, label and side: an agent of a table of pairings is asked once in a process."""


@dataclass(frozen=True)
class Pairings(Evaluated):
    """Exact results of tic-tac-toe against every agent of the same table."""

    def rows(self, experiments: Sequence[Experiment]) -> Iterator[Wanted]:
        """Yield the rows of this agent as X and as O."""
        agents = [e for e in experiments if isinstance(e, Pairings) and e.table == self.table]
        of = {e.label: (e.training.identity(SEED), e.training.runs(SEED)) for e in agents}
        pairs = [(self, other) for other in agents]
        pairs += [(other, self) for other in agents if other is not self]
        for x, o in pairs:
            (identity, runs), (other, other_runs) = of[x.label], of[o.label]
            name, key = {"x": x.label, "o": o.label}, key_of(identity, other, exact.VERSION)
            yield Wanted(self, name, key, partial(self._meet, x, o), runs | other_runs)

    def _meet(self, x: Pairings, o: Pairings, runs: Path) -> list[Row]:
        """Return how the games of a pair end."""
        shares = outcome(x.policy("X", runs), o.policy("O", runs))
        return [{"x_wins": shares.win, "draws": shares.draw, "o_wins": shares.loss}]

    def policy(self, side: str, runs: Path) -> Policy:
        """Return what the agent plays on a side."""
        if (runs, self.label, side) not in _policies:
            agent = self.training.train(SEED, None, runs).agent
            _policies.update({(runs, self.label, s): policy_of(agent, s) for s in SIDES})
        return _policies[runs, self.label, side]


@dataclass(frozen=True)
class Measure(Experiment):
    """A measure of a module, such as one of speed.

    Attributes:
        path: The module in this package, with a function `measure(**options)`.
        options: The arguments of that function.
        version: Raised when its results change.
    """

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    version: int = 1

    def rows(self, experiments: Sequence[Experiment]) -> Iterator[Wanted]:
        """Yield all rows that can be made here."""
        key = key_of(self.path, self.options, self.version)
        yield Wanted(self, {}, key, self._measure)

    def _measure(self, runs: Path) -> list[Row]:
        return list(import_module(f"benchmarks.{self.path}").measure(**self.options))


@dataclass(frozen=True)
class Clients(Experiment):
    """The clients of a library, each trained and evaluated; see `libraries.clients`.

    Attributes:
        extra: The extra of this package that installs the library.
        episodes: The games in which each is evaluated.
    """

    extra: str
    _: KW_ONLY
    episodes: int = 1_000

    def rows(self, experiments: Sequence[Experiment]) -> Iterator[Wanted]:
        """Yield a row for each client."""
        for client in clients.of(self.label):
            decisive = asdict(client), clients.VERSION, self.episodes, SEED, sampled.VERSION
            yield Wanted(self, client.name, key_of(*decisive), partial(self._train, client))

    def _train(self, client: clients.Client, runs: Path) -> list[Row]:
        return [clients.row_of(client, self.episodes)]

    @property
    def needs(self) -> str:
        """What has to be installed; "" if the library is."""
        try:
            version(clients.of(self.label)[0].package)
        except PackageNotFoundError:
            return f"needs pip install -e '.[{self.extra}]'"
        return ""
