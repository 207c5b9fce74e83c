"""The training runs of experiments: where they are, and training them up to a budget."""

from __future__ import annotations

import dataclasses
import math
import shutil
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from baselines.registry import AGENTS, Player, agent_class, load_player
from baselines.training import recording
from baselines.training.run import Options, default_options, run
from baselines.training.run_folder import CONFIG, read_config, read_progress
from tile_envs.errors import UsageError

POINTS = 25
"""The parts into which curves of learning divide a run."""


def version_of(*versions: int) -> int:
    """Return the version of what several makers of results make together.

    It is 1, and one more for each time that the results of one of them have changed.
    """
    return 1 + sum(version - 1 for version in versions)


def agent_version(name: str) -> int:
    """Return the version of an agent's results."""
    return int(getattr(agent_class(name), "version", 1))


def file_name(text: str) -> str:
    """Return a name for a file or a folder."""
    return text.replace(",", "").replace(" ", "-")


@dataclass(frozen=True)
class Training:
    """An agent in an environment, and how it is trained if it learns.

    Attributes:
        agent: The agent's name in the registry.
        env_kwargs: The environment's options; None takes those of the preset.
        preset: The preset of `hyperparams.yml`.
        settings: The settings that differ from the preset.
        games: The training budget in games; None takes that of the preset.
        replays: Recorded games that it learns from first.
    """

    label: str
    agent: str
    env: str
    env_kwargs: Mapping[str, Any] | None = None
    _: KW_ONLY
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    games: int | None = None
    replays: Recording | None = None

    @property
    def learns(self) -> bool:
        """Whether the agent is trained."""
        return self.agent in AGENTS and AGENTS[self.agent].learns

    @property
    def version(self) -> int:
        """The version of what trains it."""
        replays = self.replays
        recorded = (agent_version(replays.player.agent), recording.VERSION) if replays else ()
        return version_of(agent_version(self.agent), *recorded)

    def options(self) -> Options:
        """Return the options of its training, without recorded games."""
        options = default_options(self.agent, self.env, self.preset)
        settings = dataclasses.replace(options.settings, **self.settings)
        env_kwargs = options.env_kwargs if self.env_kwargs is None else dict(self.env_kwargs)
        games = self.games or options.games
        return dataclasses.replace(options, settings=settings, env_kwargs=env_kwargs, games=games)

    def folder(self, seed: int, runs: Path) -> Path:
        """Return the folder of a run; agents of another version have another one."""
        return runs / file_name(f"{self.env}-{self.label}-{seed}-v{self.version}")

    def folders(self, seed: int, runs: Path) -> set[Path]:
        """Return the folders of the runs that its training begins or resumes, if it learns."""
        if not self.learns:
            return set()
        others = {self.replays.player.folder(0, runs)} if self.replays else set()
        return {self.folder(seed, runs)} | others

    def seconds(self, seed: int, runs: Path) -> float:
        """Return for how many seconds a finished run has learned."""
        return float(read_progress(self.folder(seed, runs))[-1]["seconds"])

    def curve(self, seed: int, runs: Path) -> list[tuple[float, ...]]:
        """Return minutes and moves at the end of each part of a run, and its mean score."""
        lines = read_progress(self.folder(seed, runs))
        lines = [line for line in lines if math.isfinite(float(line.get("return") or "nan"))]
        points = []
        for part in filter(len, np.array_split(np.array(lines), POINTS)):
            score = np.mean([float(line["return"]) for line in part])
            minutes = float(part[-1]["seconds"]) / 60
            moves = part[-1].get("moves") or part[-1].get("timesteps") or 0
            points.append((round(minutes, 2), float(moves), round(score, 1)))
        return points

    def train(self, seed: int, minutes: float | None, runs: Path) -> Player:
        """Return the agent, trained up to a budget, and no further; an unfinished run is resumed.

        The budget is in minutes of learning; None is that in games.

        Raises:
            ValueError: If the run has passed the budget, so that its agent at this budget is lost.
        """
        folder, options = self.folder(seed, runs), self.options()
        begun = (folder / CONFIG).exists()
        config = read_config(folder) if begun else {}
        if (config.get("minutes") or 0) > (minutes or math.inf):
            raise UsageError(
                f"{folder} has learned for more than {minutes:g} minutes: delete it to train again."
            )
        games = options.games if minutes is None else 10**9  # the minutes end it
        budget: dict[str, Any] = {"games": games, "minutes": minutes}
        if not (budget | {"finished": True}).items() <= config.items():
            settings = options.settings
            if self.replays:
                settings = dataclasses.replace(settings, replays=str(self.replays.play(runs)))
            budget |= {"seed": seed, "out": folder, "resume": begun}
            run(self.agent, dataclasses.replace(options, settings=settings, **budget))
        player = load_player(folder)
        if not player.finished:
            raise RuntimeError(f"{folder} is not finished: another process may have resumed it.")
        return player


@dataclass(frozen=True)
class Recording:
    """Recorded games that an agent learns from.

    Their player is trained for so many minutes; None is its budget in games.
    """

    player: Training
    minutes: float | None
    episodes: int

    def play(self, runs: Path) -> Path:
        """Return the folder of the games, which are played if they are missing."""
        name = self.player.folder(0, runs).name
        folder = runs / f"{name}-games-v{recording.VERSION}"
        if not folder.exists():
            strong = self.player.train(0, self.minutes, runs)
            beside = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(beside, ignore_errors=True)  # of a recording that was interrupted
            recording.record(strong.agent, strong.task, self.episodes, 0, beside)
            beside.replace(folder)
        return folder
