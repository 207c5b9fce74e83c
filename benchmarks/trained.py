"""The training runs of experiments: where they are, and training them up to a budget."""

from __future__ import annotations

import dataclasses
import math
import shutil
from pathlib import Path
from typing import Any

from baselines.registry import Player, load_player
from baselines.training.recording import record
from baselines.training.run import default_options, run
from baselines.training.run_folder import CONFIG, Budget, budget_of, read_config, read_progress
from benchmarks.jobs import Job
from benchmarks.kinds import Experiment, Games
from benchmarks.versions import RECORDING, makers_of, version_of
from tile_envs.errors import UsageError

ENOUGH = 10**9  # games, where minutes end the training


def trained(experiment: Experiment, seed: int, minutes: float | None, runs: Path) -> Player:
    """Return an experiment's agent, trained up to a budget, and no further.

    A run that is not finished is resumed.

    Args:
        experiment: What is trained.
        seed: The training seed.
        minutes: The budget in minutes of learning; None is that in games.
        runs: The folder of the runs' folders.

    Raises:
        KeyboardInterrupt: If the training is interrupted.
        ValueError: If the run has passed the budget, so that its agent at this budget is lost.
    """
    folder = folder_of(experiment, seed, runs)
    options = default_options(experiment.agent, experiment.env, experiment.preset)
    games = ENOUGH if minutes is not None else experiment.games or options.games
    budget = Budget(games, minutes)
    begun = (folder / CONFIG).exists()
    config = read_config(folder) if begun else {}
    if begun and (budget_of(config).minutes or 0) > (minutes or math.inf):
        raise UsageError(
            f"{folder} has learned for more than {minutes:g} minutes: delete it to train again."
        )
    if not (begun and config["finished"] and budget_of(config) == budget):
        settings = settings_of(experiment)
        if experiment.replays:
            recorded = str(_recorded(experiment.replays, runs))
            settings = dataclasses.replace(settings, replays=recorded)
        options = dataclasses.replace(
            options,
            settings=settings,
            games=games,
            minutes=minutes,
            seed=seed,
            out=folder,
            resume=begun,
        )
        if experiment.env_kwargs is not None:
            options = dataclasses.replace(options, env_kwargs=dict(experiment.env_kwargs))
        run(experiment.agent, options)
    player = load_player(folder)
    if not player.finished:
        raise RuntimeError(f"{folder} is not finished: another process may have gone on with it.")
    return player


def settings_of(experiment: Experiment) -> Any:
    """Return the settings that an experiment is trained with, but for the games to learn from."""
    options = default_options(experiment.agent, experiment.env, experiment.preset)
    return dataclasses.replace(options.settings, **experiment.settings)


def folder_of(experiment: Experiment, seed: int, runs: Path) -> Path:
    """Return the folder of a run; agents of another version have another one."""
    version = version_of(*makers_of(experiment))
    name = f"{experiment.env}-{experiment.label}-{seed}-v{version}"
    return runs / name.replace(",", "").replace(" ", "-")


def folders_of(job: Job, runs: Path) -> set[Path]:
    """Return the folders of the runs that a job trains, or goes on with."""
    agents = [each for pair in job.pairs for each in pair] or [job.experiment]
    learners = [each for each in agents if isinstance(each, Experiment) and each.trained]
    players = [each.replays.player for each in learners if each.replays]
    return {folder_of(each, job.seed, runs) for each in learners} | {
        folder_of(each, 0, runs) for each in players
    }


def learned(folder: Path) -> float:
    """Return for how many seconds a finished run has learned."""
    return float(read_progress(folder)[-1]["seconds"])


def _recorded(games: Games, runs: Path) -> Path:
    """Return a folder of recorded games, which are played if they are missing."""
    player = games.player
    name = f"{folder_of(player, 0, runs).name}-games-v{version_of(RECORDING)}"
    folder = runs / name
    if not folder.exists():
        strong = trained(player, 0, player.minutes[-1] if player.minutes else None, runs)
        beside = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(beside, ignore_errors=True)  # of a recording that was interrupted
        record(strong.agent, strong.task, games.episodes, 0, beside)
        beside.replace(folder)
    return folder
