"""The training runs of experiments: where they are, and training them up to a budget."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

from baselines.recording import record
from baselines.registry import Player, load_player
from baselines.runs import CHECKPOINT, CONFIG, read_progress
from baselines.training import default_options, run
from benchmarks.kinds import Experiment, Games
from benchmarks.versions import makers_of, version_of

ENOUGH = 10**9  # games, where minutes end the training


class LearnedLonger(Exception):
    """A run has passed a budget, so that its agent at this budget is lost."""


def trained(experiment: Experiment, seed: int, minutes: float | None, runs: Path) -> Player:
    """Return an experiment's agent, trained up to a budget, and no further.

    A run that was interrupted is resumed.

    Args:
        experiment: What is trained.
        seed: The training seed.
        minutes: The budget in minutes of learning; None is that in games.
        runs: The folder of the runs' folders.

    Raises:
        KeyboardInterrupt: If the training is interrupted.
        LearnedLonger: If the run has passed the budget.
    """
    folder = folder_of(experiment, seed, runs)
    settings = settings_of(experiment)
    if experiment.replays:
        recorded = str(_recorded(experiment.replays, runs))
        settings = dataclasses.replace(settings, replays=recorded)
    options = dataclasses.replace(
        default_options(experiment.agent, experiment.env, experiment.preset),
        settings=settings,
        seed=seed,
        out=folder,
        resume=(folder / CONFIG).exists(),
    )
    if experiment.env_kwargs is not None:
        options = dataclasses.replace(options, env_kwargs=dict(experiment.env_kwargs))
    if minutes is None:
        games = options.games if experiment.games is None else experiment.games
        if _games(folder) < games:
            run(experiment.agent, dataclasses.replace(options, games=games, minutes=None))
        return load_player(folder)
    missing = minutes - learned(folder) / 60
    if missing > 0:
        run(experiment.agent, dataclasses.replace(options, games=ENOUGH, minutes=missing))
    elif not _stands_at(folder, 60 * minutes):
        raise LearnedLonger(f"{folder} has learned for more than {minutes:g} minutes.")
    return load_player(folder)


def settings_of(experiment: Experiment) -> Any:
    """Return the settings that an experiment is trained with, but for the games to learn from."""
    options = default_options(experiment.agent, experiment.env, experiment.preset)
    return dataclasses.replace(options.settings, **experiment.settings)


def folder_of(experiment: Experiment, seed: int, runs: Path) -> Path:
    """Return the folder of a run; agents of another version have another one."""
    version = version_of(*makers_of(experiment))
    name = f"{experiment.env}-{experiment.label}-{seed}-v{version}"
    return runs / name.replace(",", "").replace(" ", "-")


def learned(folder: Path) -> float:
    """Return for how many seconds a run has learned, up to its checkpoint."""
    games = _games(folder)
    known = (row for row in read_progress(folder) if int(row["games"]) <= games)
    return max((float(row["seconds"]) for row in known), default=0.0)


def _stands_at(folder: Path, seconds: float) -> bool:
    """Tell whether a run has ended at a budget and has not learned since."""
    *earlier, last = read_progress(folder)
    before = max((float(row["seconds"]) for row in earlier), default=0.0)
    return before < seconds <= float(last["seconds"]) and int(last["games"]) == _games(folder)


def _games(folder: Path) -> int:
    """Return how many games the checkpoint of a run has learned from."""
    if not (folder / CHECKPOINT).exists():
        return 0
    learner: Any = load_player(folder).agent
    games: int = learner.games
    return games


def _recorded(games: Games, runs: Path) -> Path:
    """Return a folder of recorded games, which are played if they are missing."""
    player = games.player
    folder = runs / f"{folder_of(player, 0, runs).name}-games"
    if not folder.exists():
        strong = trained(player, 0, player.minutes[-1] if player.minutes else None, runs)
        beside = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(beside, ignore_errors=True)  # of a recording that was interrupted
        record(strong.agent, strong.task, games.episodes, 0, beside)
        beside.replace(folder)
    return folder
