"""The command that trains: `python -m baselines train qtable …`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import gymnasium as gym
import tyro

import tile_envs  # noqa: F401
from baselines import runs
from baselines.hyperparams import tuned, usual_env
from baselines.roster import TRAINABLE, classes, make_learner, read_settings, sides_of
from tile_envs.checks import checked_count, checked_seed
from tile_envs.game_env import GameEnv

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Options(Generic[Settings]):
    """What every training run is told.

    Attributes:
        settings: How the agent learns.
        env: The environment's id.
        env_kwargs: The environment's options.
        side: What is learned in tic-tac-toe: X, O or both.
        games: How many games, for each side in tic-tac-toe.
        minutes: So many minutes of learning, without tests and saving, end this sitting, too.
        seed: Starts games and exploration.
        out: The run's folder; runs/AGENT-ENV-SEED if not given.
        resume: Go on with the run in that folder, as it began; its settings need not be given.
        preset: Settings by name, from hyperparams.yml; what is given beside it comes first.
    """

    settings: Settings
    env: str
    env_kwargs: Annotated[str, tyro.conf.arg(metavar="JSON")] = "{}"
    side: str = "both"
    games: int = 100_000
    minutes: float | None = None
    seed: int = 0
    out: Path | None = None
    resume: bool = False
    preset: str | None = None


def command(name: str, arguments: Sequence[str]) -> None:
    """Train an agent as a command line says, in a folder.

    Args:
        name: The agent's name.
        arguments: What follows it on the command line.

    Raises:
        ValueError: If something is asked for that cannot be.
    """
    # The tuned numbers are the defaults, so the environment and preset must be known first.
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--env", default=usual_env(name) if name in TRAINABLE else None)
    first.add_argument("--preset")
    first.add_argument("--out", type=Path)
    first.add_argument("--resume", action="store_true")
    asked, _ = first.parse_known_args(arguments)
    defaults = default_options(name, asked.env, asked.preset)
    if asked.resume and asked.out:
        defaults = _as_it_began(name, asked.out, defaults)
    options = tyro.cli(
        tyro.conf.OmitArgPrefixes[Options[classes(name)[1]]],  # type: ignore[misc]
        args=list(arguments),
        default=defaults,
        prog=f"python -m baselines train {name}",
        description=classes(name)[0].__doc__.split("\n")[0],
    )
    run(name, options)


def default_options(name: str, env_id: str, preset: str | None) -> Options[Any]:
    """Return what an agent is trained with when nothing else is asked for.

    Raises:
        ValueError: If there is no such agent or preset.
    """
    settings_class = classes(name)[1]
    chosen = tuned(name, env_id, preset)
    fields = {field.name for field in dataclasses.fields(settings_class)}
    settings = settings_class(**{key: chosen[key] for key in chosen.keys() & fields})
    common = {key: chosen[key] for key in chosen.keys() - fields}
    return Options(settings, env=env_id, preset=preset, **common)


def _as_it_began(name: str, folder: Path, options: Options[Any]) -> Options[Any]:
    """Return options with what a run was begun with.

    Raises:
        ValueError: If there is no run, or one of another agent.
    """
    config = runs.read_config(folder)
    if config["agent"] != name:
        raise ValueError(f"{folder} is a run of {config['agent']}, not of {name}.")
    sides = config["sides"]
    return dataclasses.replace(
        options,
        settings=read_settings(folder, config),
        env=config["env"],
        env_kwargs=json.dumps(config["env_kwargs"]),
        side=sides[0] if len(sides) == 1 else "both",
        seed=config["seed"],
    )


def train_preset(name: str, env_id: str, preset: str | None, seed: int, folder: Path) -> None:
    """Train an agent by a preset, and go on if that was begun before."""
    options = dataclasses.replace(
        default_options(name, env_id, preset),
        seed=seed,
        out=folder,
        resume=(folder / runs.CONFIG).exists(),
    )
    run(name, options)


def run(name: str, options: Options[Any]) -> Path:
    """Train an agent in a folder.

    Returns:
        The folder.

    Raises:
        ValueError: If something is asked for that cannot be; no folder has been made then.
    """
    checked_count(options.games, "games")
    if options.minutes is not None and not 0 < options.minutes < math.inf:
        raise ValueError(f"minutes must be above 0 and finite, got {options.minutes}.")
    checked_seed(options.seed)
    env_kwargs = json.loads(options.env_kwargs)
    env = gym.make(options.env, **env_kwargs)
    if not isinstance(env.unwrapped, GameEnv):
        raise ValueError(f"{options.env} is not an environment of this package.")
    sides = sides_of(env, options.side)
    learner = make_learner(name, options.env, env_kwargs, sides, options.settings, options.seed)
    config = {
        "agent": name,
        "env": options.env,
        "env_kwargs": env_kwargs,
        "sides": list(sides),
        "settings": dataclasses.asdict(options.settings),
        "seed": options.seed,
    }
    folder = options.out or Path("runs", f"{name}-{options.env}-{options.seed}")
    if options.resume:
        runs.go_on(folder, config, learner)
    else:
        learner.prepare()
        runs.begin(folder, config)
    finished = runs.train(folder, learner, options.games, options.minutes)
    games = f"{learner.games:,} games{' a side' if sides else ''}"
    print(
        f"{name} has played {games}: {folder}"
        if finished
        else f"stopped after {games}, --resume goes on: {folder}"
    )
    return folder
