"""The command that trains: `python -m baselines train qtable …`."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import tyro

from baselines import runs
from baselines.after_training import closing_text
from baselines.command_line import Interrupted
from baselines.evaluation import play
from baselines.exact.tictactoe import side_shares
from baselines.hyperparams import presets_of, tuned
from baselines.learner import Learner, Metrics, check_state, settings_of
from baselines.lock import locked
from baselines.loop import train
from baselines.options import EnvOptions
from baselines.registry import learner_class, make_learner, usual_env
from baselines.runs import Budget
from baselines.task import BOTH, Task
from tile_envs.checks import checked_count, checked_seed
from tile_envs.modules import NAMED
from tile_envs.playthrough import imported

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Options(Generic[Settings]):
    """The options of a training run.

    Attributes:
        settings: The settings of the learner.
        env: The environment's id; my_module:Id imports the module that registers it.
        env_kwargs: The environment's options.
        side: The side that is learned in tic-tac-toe: X, O or both.
        games: The budget in games, on each side in tic-tac-toe.
        minutes: The budget in minutes of learning, without tests and saving.
        seed: The seed of games and exploration.
        out: The run's folder; runs/AGENT-ENV-SEED if not given.
        resume: Continue the run in that folder, up to its budget or another that is given; what was
            learned before counts, and its settings need not be given again.
        preset: A preset of hyperparams.yml; other options override it.
    """

    settings: Settings
    env: str
    env_kwargs: EnvOptions = field(default_factory=dict)
    side: str = BOTH
    games: int = 100_000
    minutes: float | None = None
    seed: int = 0
    out: Path | None = None
    resume: bool = False
    preset: str | None = None


@dataclass(frozen=True)
class OneSided(Options[Settings]):
    """The options in a game without sides: `--side` is no part of the help."""

    side: tyro.conf.Suppress[str] = BOTH


def command(name: str, arguments: Sequence[str]) -> None:
    """Train an agent as a command line says, in a folder.

    Args:
        name: The agent's name, or the class of a learner, `my_module:MyLearner`.
        arguments: The options.

    Raises:
        ValueError: If an option is unusable.
        Interrupted: If the run was interrupted.
    """
    # The tuned numbers are the defaults, so the environment and preset must be known first.
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--env", default=usual_env(name))
    first.add_argument("--preset")
    first.add_argument("--side", default=BOTH)
    first.add_argument("--seed", default=str(Options.seed))
    first.add_argument("--out", type=Path)
    first.add_argument("--resume", action="store_true")
    asked, _ = first.parse_known_args(arguments)
    found = learner_class(name)
    own = {known.name for known in dataclasses.fields(Options)}
    if taken := [known.name for known in dataclasses.fields(found.Settings) if known.name in own]:
        raise ValueError(f"{name}.Settings.{taken[0]}: every run has an option of that name.")
    env_id = imported(asked.env)
    defaults = default_options(name, env_id, asked.preset)
    if asked.resume:
        folder = asked.out or _usual_folder(name, env_id, asked.seed)
        defaults = _as_begun(name, folder, defaults)
    kind: Any = Options
    settings = found.Settings
    if not Task.of(env_id, side=asked.side).game.sides:
        kind, settings = OneSided, _suppressed(found.Settings, found.sided)
        defaults = dataclasses.replace(defaults, settings=settings(**vars(defaults.settings)))
    options = tyro.cli(
        tyro.conf.OmitArgPrefixes[kind[settings]],  # type: ignore[misc]
        args=list(arguments),
        default=kind(**vars(defaults)),
        prog=f"python -m baselines train {name}",
        description=_description(name, found),
    )
    folder = run(name, options)
    print(f"\n{closing_text(folder)}")


def _suppressed(settings: type[Any], names: Collection[str]) -> type[Any]:
    """Return a dataclass of settings with some that are no options of the command line."""
    hidden: Any = tyro.conf.Suppress
    fields = [
        (known.name, hidden[Any], dataclasses.field(default=known.default))
        for known in dataclasses.fields(settings)
        if known.name in names
    ]
    if not fields:
        return settings
    return dataclasses.make_dataclass(settings.__name__, fields, bases=(settings,), frozen=True)


def _description(name: str, found: type[Learner]) -> str:
    """Return what `--help` says of a learner: what it is, and which presets there are."""
    first = (inspect.getdoc(found) or name).split("\n")[0]
    presets = [f"{env_id}: {', '.join(names)}" for env_id, names in presets_of(name).items()]
    known = f"{first} Presets (sets of tuned settings), by environment: {'; '.join(presets)}."
    return known if presets else first


def default_options(name: str, env_id: str, preset: str | None = None) -> Options[Any]:
    """Return the options of an agent's preset.

    Args:
        name: The agent's name.
        env_id: The environment's id.
        preset: None is the default preset; without one the agent's own defaults hold.

    Raises:
        ValueError: If there is no such agent or preset.
    """
    learner = learner_class(name)
    chosen = tuned(name, env_id, preset)
    fields = {known.name for known in dataclasses.fields(learner.Settings)}
    settings = settings_of(learner, {k: v for k, v in chosen.items() if k in fields})
    common = {key: value for key, value in chosen.items() if key not in fields}
    return Options(settings, env=env_id, preset=preset, **common)


def _as_begun(name: str, folder: Path, options: Options[Any]) -> Options[Any]:
    """Return the options that a run was started with.

    Raises:
        ValueError: If there is no run, or one of another agent.
    """
    config = runs.read_config(folder)
    if config["agent"] != name:
        raise ValueError(f"{folder} is a run of {config['agent']}, not of {name}.")
    sides = config["sides"]
    return dataclasses.replace(
        options,
        settings=runs.read_settings(folder, config, learner_class(name)),
        env=config["env"],
        env_kwargs=config["env_kwargs"],
        side=sides[0] if len(sides) == 1 else BOTH,
        seed=config["seed"],
        games=config["games"],
        minutes=config["minutes"],
    )


def run(name: str, options: Options[Any]) -> Path:
    """Train an agent in a folder, up to its budget.

    Returns:
        The folder.

    Raises:
        ValueError: If an option is unusable; no folder has been made then.
        Interrupted: If the run was interrupted; it can be resumed.
    """
    checked_count(options.games, "games")
    if options.minutes is not None and not 0 < options.minutes < math.inf:
        raise ValueError(f"minutes must be above 0 and finite, got {options.minutes}.")
    checked_seed(options.seed)
    task = Task.of(options.env, options.env_kwargs, options.side)
    learner = make_learner(name, task, options.seed, options.settings)
    check_state(learner)
    config = {
        "agent": name,
        **task.to_dict(),
        "settings": dataclasses.asdict(options.settings),
        "seed": options.seed,
        "modules": list(NAMED),
    }
    budget = Budget(options.games, options.minutes)
    folder = options.out or _usual_folder(name, task.env, options.seed)
    if options.resume:
        runs.read_config(folder)
    else:
        runs.check_free(folder)
        learner.prepare()
    with locked(folder):
        if options.resume:
            runs.resume(folder, config, budget, learner)
        else:
            runs.begin(folder, config, budget)
        if not runs.read_config(folder)["finished"]:
            try:
                train(folder, learner, budget, lambda *asked: test(task, *asked))
            except Interrupted as interrupt:
                played = _played(learner, task)
                message = f"stopped after {played}, --resume continues: {folder}"
                raise Interrupted(interrupt.number, message) from None
    print(f"{name.rpartition(':')[2]} has played {_played(learner, task)}: {folder}")
    return folder


def _usual_folder(name: str, env_id: str, seed: object) -> Path:
    """Return where a run is if nothing else is said."""
    label, env = (text.rpartition(":")[2] for text in (name, env_id))
    return Path("runs", f"{label}-{env}-{seed}")


def _played(learner: Learner, task: Task) -> str:
    return f"{learner.games:,} games{' a side' if task.sides else ''}"


def test(task: Task, learner: Learner, games: int) -> Metrics:
    """Return the metrics of a test during training.

    Args:
        task: What is learned.
        learner: The learner, which plays without exploring.
        games: The number of games; in tic-tac-toe the metrics are exact instead.
    """
    if task.sides:
        return side_shares(learner, task.sides)
    record = play(learner, task.env, task.env_kwargs, games, use="test")
    return {"greedy_mean": float(record.returns.mean())}
