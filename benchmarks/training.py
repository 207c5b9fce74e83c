"""The agents of experiments: what decides each one, and training it in a folder of its own."""

from __future__ import annotations

import hashlib
import math
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from baselines.agents import LEARNERS, STRONG, STRONG_FOLDER, Task, agent_class
from baselines.ntuple.network import Network
from baselines.players import Player, open_player
from baselines.training import recording
from baselines.training.config import RunConfig, key_of
from baselines.training.learner import learner_class
from baselines.training.run import config_for, train
from baselines.training.run_folder import CHECKPOINT, CONFIG, Run, read_progress
from benchmarks.results import Row
from tile_envs.errors import UsageError

POINTS = 25
"""The parts into which curves of learning divide a run."""
ARTICLE = "benchmarks.article:Article"
"""The learner of a beginner's article."""
SIZES = {4: "four", 5: "five", 6: "six", 7: "seven"}
"""The sizes of tuples in words."""


def version_of(kind: Any) -> int:
    """Return the version of the results of a class."""
    return int(getattr(kind, "version", 1))


@dataclass(frozen=True)
class Training:
    """An agent in an environment, and how it is trained if it learns.

    Attributes:
        agent: The agent's name in the registry, or `ARTICLE`.
        env_kwargs: The environment's options; None takes those of the preset.
        preset: The preset of `hyperparams.yml`.
        settings: The settings that differ from the preset; the options of an agent that does not
            learn.
        games: The training budget in games, if there is none in minutes; None takes the preset's.
        minutes: Budgets in minutes of learning, one after the other in one run: several are only
            for settings that follow no schedule of the budget.
        replays: Recorded games that it learns from first.
    """

    agent: str
    env: str
    env_kwargs: Mapping[str, Any] | None = None
    _: KW_ONLY
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    games: int | None = None
    minutes: tuple[float, ...] = ()
    replays: Recording | None = None

    @property
    def learns(self) -> bool:
        """Whether the agent is trained."""
        return self.agent in (*LEARNERS, ARTICLE)

    @cached_property
    def config(self) -> RunConfig:
        """What decides its training, without recorded games."""
        budget = {} if self.games is None else {"games": self.games}
        given = {"preset": self.preset, **budget, **self.settings}
        return config_for(self.agent, self.env, self.env_kwargs, **given)

    @property
    def threads(self) -> int:
        """The number of threads with which it learns."""
        return int(self.config.settings.get("threads", 1)) if self.learns else 1

    def identity(self, seed: int, minutes: float | None = None) -> Row:
        """Return what decides the agent, trained up to a budget in minutes, or that in games."""
        kind = agent_class("ntuple" if self.agent == STRONG else self.agent)
        parts: Row = {"agent": self.agent, "version": version_of(kind)}
        parts |= {"env": self.env, "seed": seed}
        if self.learns:
            games = self.config.games if minutes is None else None
            budget = {"games": games, "minutes": minutes}
            parts |= {name: n if n is None or n % 1 else int(n) for name, n in budget.items()}
            parts["env_kwargs"] = self.config.env_kwargs  # as rows of before have them
            parts["settings"] = self.config.settings
        else:
            parts |= {"env_kwargs": dict(self.env_kwargs or {}), "settings": dict(self.settings)}
        if self.agent == STRONG:
            checkpoint = STRONG_FOLDER / Task.of(self.env).game.name / CHECKPOINT
            parts["network"] = hashlib.sha256(checkpoint.read_bytes()).hexdigest()
        if self.replays:
            parts["replays"] = self.replays.identity()
        return parts

    @property
    def last(self) -> float | None:
        """Its last budget in minutes; None if its budget is in games."""
        return max(self.minutes, default=None)

    def name(self, seed: int) -> str:
        """Return the name of the folder of a run: one of other settings has another folder."""
        words = [self.env, self.agent.rpartition(":")[2], *filter(None, [self.preset]), str(seed)]
        return "-".join([*words, key_of(self.identity(seed, self.last))])

    def runs(self, seed: int) -> frozenset[str]:
        """Return the names of the runs that its training begins or resumes, if it learns."""
        if not self.learns:
            return frozenset()
        others = {self.replays.player.name(0)} if self.replays else set()
        return frozenset({self.name(seed)} | others)

    def progress(self, seed: int, runs: Path) -> list[Row]:
        """Return the lines of the progress of a run."""
        return read_progress(runs / self.name(seed))

    def learned(self, seed: int, runs: Path, with_curve: bool) -> Row:
        """Return from how many games and moves a run has learned, and its curve of learning.

        That has minutes and moves at the end of each part of the run, and its mean score.
        """
        lines = self.progress(seed, runs)
        row: Row = {
            "games_learned": int(lines[-1]["games"]),
            "moves_learned": max(map(_moves, lines)),
        }
        if with_curve:
            lines = [line for line in lines if math.isfinite(float(line.get("return") or "nan"))]
            row["curve"] = []
            for part in filter(len, np.array_split(np.array(lines), POINTS)):
                score = round(np.mean([float(line["return"]) for line in part]), 1)
                minutes = round(float(part[-1]["seconds"]) / 60, 2)
                row["curve"].append((minutes, float(_moves(part[-1])), score))
        return row

    def train(self, seed: int, minutes: float | None, runs: Path) -> Player:
        """Return the agent, if it learns trained up to a budget, and no further.

        The budget is in minutes of learning; None is that in games.  An unfinished run is resumed.

        Raises:
            ValueError: If the run has passed the budget, so that its agent at this budget is lost.
        """
        if not self.learns:
            return open_player(
                self.agent, self.env, self.env_kwargs, seed=seed, agent_kwargs=self.settings
            )
        folder = runs / self.name(seed)
        run = Run.read(folder) if (folder / CONFIG).exists() else None
        if run and (run.config.minutes or 0) > (minutes or math.inf):
            raise UsageError(
                f"{folder} has learned for more than {minutes:g} minutes: delete it to train again."
            )
        if not run or not run.finished or run.config.minutes != minutes:
            given: dict[str, Any] = {"preset": self.preset, **self.settings, "seed": seed}
            if self.replays:
                given["replays"] = str(self.replays.play(runs))
            budget = {"games": self.config.games} if minutes is None else {"minutes": minutes}
            how: dict[str, Any] = {"out": folder, "resume": bool(run), "progress": None}
            train(self.agent, self.env, self.env_kwargs, **given, **budget, **how)
        trained = open_player(folder)
        if not (trained.run and trained.run.finished):
            raise RuntimeError(f"{folder} is not finished: another process may have resumed it.")
        return trained

    def in_words(self) -> Row:
        """Return the network and the algorithm of a learner, as short texts for people."""
        settings: Any = learner_class(self.agent).Settings(**self.config.settings)
        if self.agent == "ntuple":
            game: Any = Task.of(self.env, self.config.env_kwargs).game
            shape = Network.of(game, settings.network, settings.values, settings.sums)
            counts = Counter(map(len, shape.tuples)).items()
            tuples = [f"{n} {SIZES.get(size, size)}-tuple{'s' * (n > 1)}" for size, n in counts]
            network = " and ".join(tuples)
            network += f", {settings.values} values" * (settings.values is not None)
            network += f", {len(shape.stages) + 1} stages" * bool(shape.stages)
            algorithm = f"{settings.method.upper()}({settings.trace_decay:g})"
            algorithm += f", α {settings.learning_rate:g}" * (settings.learning_rate != 1)
            algorithm += ", forward" * (settings.direction == "forward")
            algorithm += f", restart {settings.restart:g}" * bool(settings.restart)
            algorithm += ", carousel" * bool(settings.late_stages)
            algorithm += f", optimistic {settings.initial:,.0f}" * bool(settings.initial)
            if settings.half_games:
                algorithm += f", half of it for {settings.half_games:,} games"
            algorithm += f", mean of the last {settings.averaging:.0%}" * bool(settings.averaging)
        elif self.agent in ("dqn", "ppo"):
            convolves = getattr(settings, "network", "patterns") == "cnn"
            hidden = " and ".join(map(str, settings.hidden))
            first = "convolutions" if convolves else "looked-up patterns"
            network = f"{first}, width {settings.width}, hidden {hidden}"
            algorithm = f"{settings.n_steps}-step DQN" if self.agent == "dqn" else "PPO"
        else:
            network, algorithm = "a convolution and two dense layers", "fitted Q-learning"
        if self.replays:
            algorithm += f", after {self.replays.episodes} recorded games"
        return {"network": network, "algorithm": algorithm}


def _moves(line: Mapping[str, str]) -> int:
    return int(float(line.get("moves") or line.get("timesteps") or 0))


@dataclass(frozen=True)
class Recording:
    """Recorded games of a trained agent, for others to learn from."""

    player: Training
    episodes: int

    def identity(self) -> Row:
        """Return what decides the games."""
        player = self.player.identity(0, self.player.last)
        return {"player": player, "episodes": self.episodes, "version": recording.VERSION}

    def play(self, runs: Path) -> Path:
        """Return the folder of the games, which are played if they are missing."""
        folder = runs / f"{self.player.name(0)}-games-{key_of(self.identity())}"
        if not folder.exists():
            trained = self.player.train(0, self.player.last, runs)
            beside = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(beside, ignore_errors=True)  # of a recording that was interrupted
            recording.record(trained.agent, trained.task, self.episodes, 0, beside)
            beside.replace(folder)
        return folder
