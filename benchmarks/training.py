"""The agents of experiments: what decides each one, and training it in a folder of its own."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from baselines.agents import LEARNERS, STRONG, STRONG_FOLDER, Task, agent_class
from baselines.players import Player, open_player
from baselines.training import recording
from baselines.training.config import RunConfig, key_of, normal
from baselines.training.learner import learner_class
from baselines.training.run import config_for, train
from baselines.training.run_folder import CHECKPOINT, CONFIG, Run, read_progress
from benchmarks.results import FOLDER, Row
from tile_envs.errors import UsageError

POINTS = 25  # the parts into which curves of learning divide a run
DEFAULTS = FOLDER / "defaults.json"
"""The default of each setting when the first row was made with it, by learner.

Records hold what differs from these.  So a new setting changes no key, and a changed default
changes those of the rows that are to be made with it.
"""


def version_of(kind: Any) -> int:
    return int(getattr(kind, "version", 1))


@cache
def defaults_of(agent: str) -> Row:
    """Return the recorded default of each setting of a learner; of a new one, that of today."""
    recorded: dict[str, Row] = json.loads(DEFAULTS.read_text(encoding="utf-8"))
    return {**normal(asdict(learner_class(agent).Settings())), **recorded.get(agent, {})}


@dataclass(frozen=True)
class Training:
    """An agent in an environment, and how it is trained if it learns.

    Attributes:
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
        return self.agent in LEARNERS

    @cached_property
    def config(self) -> RunConfig:
        """What decides its training, without recorded games."""
        given = {"preset": self.preset, **self.settings}
        given |= {} if self.games is None else {"games": self.games}
        return config_for(self.agent, self.env, self.env_kwargs, **given)

    @property
    def options(self) -> Row:
        return dict(self.config.env_kwargs if self.learns else self.env_kwargs or {})

    @property
    def threads(self) -> int:
        return int(self.config.settings.get("threads", 1)) if self.learns else 1

    def record(self, seed: int, minutes: float | None = None) -> Row:
        """Return what decides the agent, trained up to a budget in minutes, or that in games."""
        version = version_of(agent_class("ntuple" if self.agent == STRONG else self.agent))
        record: Row = {"agent": self.agent, "version": version, "env": self.env, "seed": seed}
        settings = normal(self.settings)
        if self.learns:
            record |= {"games": self.config.games} if minutes is None else {"minutes": minutes}
            usual, settings = defaults_of(self.agent), normal(self.config.settings)
            settings = {n: value for n, value in settings.items() if value != usual[n]}
        if self.agent == STRONG:
            checkpoint = STRONG_FOLDER / Task.of(self.env).game.name / CHECKPOINT
            record["network"] = hashlib.sha256(checkpoint.read_bytes()).hexdigest()
        if self.replays:
            record["replays"] = self.replays.record()
        record |= {"env_kwargs": self.options, "settings": settings}
        return normal({name: value for name, value in record.items() if value != {}})

    @property
    def last(self) -> float | None:
        """Its last budget in minutes; None if its budget is in games."""
        return max(self.minutes, default=None)

    def name(self, seed: int) -> str:
        """Return the name of the folder of a run: one of other settings has another folder."""
        words = [self.env, self.agent, *filter(None, [self.preset]), str(seed)]
        return "-".join([*words, key_of(self.record(seed, self.last))])

    def progress(self, seed: int, runs: Path) -> list[Row]:
        return read_progress(runs / self.name(seed))

    def learned(self, seed: int, runs: Path, with_curve: bool) -> Row:
        """Return threads, games and moves of a run, and its curve: (minutes, moves, mean score)."""
        lines = self.progress(seed, runs)
        row: Row = {"threads": self.threads, "games_learned": int(lines[-1]["games"])}
        row["moves_learned"] = max(map(_moves, lines))  # the last line may be a test alone
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

        The budget is in minutes of learning; None is that in games.  An unfinished run is resumed;
        of one that has passed the budget, the agent at this budget is lost: that is an error.
        """
        if not self.learns:
            kwargs: Any = {"seed": seed, "agent_kwargs": self.settings}
            return open_player(self.agent, self.env, self.env_kwargs, **kwargs)
        folder = runs / self.name(seed)
        run = Run.read(folder) if (folder / CONFIG).exists() else None
        if run and (run.config.minutes or 0) > (minutes or math.inf):
            raise UsageError(
                f"{folder} has learned for more than {minutes:g} minutes: delete it to train again."
            )
        if not run or not run.finished or run.config.minutes != minutes:
            given: Row = {"preset": self.preset, **self.settings, "seed": seed}
            given |= {"device": "cpu"} if "device" in self.config.settings else {}  # as tables say
            if self.replays:
                given["replays"] = str(self.replays.play(runs))
            given |= {"games": self.config.games} if minutes is None else {"minutes": minutes}
            how: Row = {"out": folder, "resume": bool(run), "progress": None}
            train(self.agent, self.env, self.env_kwargs, **given, **how)
        return open_player(folder, unfinished=False)  # another process may have resumed it


def _moves(line: Mapping[str, str]) -> int:
    return int(float(line.get("moves") or line.get("timesteps") or 0))


@dataclass(frozen=True)
class Recording:
    """Recorded games of a trained agent, for others to learn from."""

    player: Training
    episodes: int

    def record(self) -> Row:
        player = self.player.record(0, self.player.last)
        return {"player": player, "episodes": self.episodes, "version": recording.VERSION}

    def play(self, runs: Path) -> Path:
        """Return the folder of the games, which are played if they are missing."""
        folder = runs / f"{self.player.name(0)}-games-{key_of(self.record())}"
        if not folder.exists():
            trained = self.player.train(0, self.player.last, runs)
            beside = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(beside, ignore_errors=True)  # of a recording that was interrupted
            recording.record(trained.agent, trained.task, self.episodes, 0, beside)
            beside.replace(folder)
        return folder
