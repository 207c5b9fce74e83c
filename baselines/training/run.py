"""A training run: its options, and training in its folder up to a budget."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml

from baselines.registry import configuration, learner_class, make_learner
from baselines.settings import Count, Positive, Seed, check_settings, read_settings
from baselines.task import BOTH, Task
from baselines.training import run_folder as runs
from baselines.training.learner import Learner, check_state
from baselines.training.loop import train
from tile_envs.errors import UsageError


@dataclass(frozen=True)
class Options:
    """The options of a training run.

    Attributes:
        settings: The settings of the learner.
        env: The environment's id; my_module:Id imports the module that registers it.
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
        side: The side that is learned in tic-tac-toe.
        games: The budget in games, on each side in tic-tac-toe.
        minutes: The budget in minutes of learning, without tests and saving.
        seed: The seed of games and exploration.
        out: The run's folder; runs/AGENT-ENV-SEED if not given.
        resume: Continue the run in that folder, up to its budget or another that is given; what was
            learned before counts, and its settings need not be given again.
        preset: A preset of hyperparams.yml; other options override it.
    """

    settings: Any
    env: str
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    side: Literal["X", "O", "both"] = "both"
    games: Count = 100_000
    minutes: Positive | None = None
    seed: Seed = 0
    out: Path | None = None
    resume: bool = False
    preset: str | None = None


@cache
def presets_of(name: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return an agent's tuned numbers of `hyperparams.yml`, by environment id and preset."""
    text = files("baselines").joinpath("hyperparams.yml").read_text(encoding="utf-8")
    presets: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(text).get(name, {})
    return presets


def default_options(name: str, env_id: str, preset: str | None = None) -> Options:
    """Return the options of an agent's preset; None is its default one, if there is one.

    Raises:
        ValueError: If there is no such agent or preset.
    """
    learner = learner_class(name)
    presets = presets_of(name).get(env_id, {})
    if preset is not None and preset not in presets:
        expected = ", ".join(map(repr, presets)) or "none"
        raise UsageError(
            f"there is no preset {preset!r} for {name} on {env_id}: there is {expected} for these."
        )
    own = dict(presets.get(preset or "default", {}))
    names = {field.name for field in dataclasses.fields(Options)}
    common = {name: own.pop(name) for name in names & own.keys()}
    return Options(read_settings(learner.Settings, own), env=env_id, preset=preset, **common)


def as_begun(name: str, folder: Path, preset: str | None = None) -> Options:
    """Return the options that a run of an agent was started with.

    Those of a preset, if one is given, replace them, so that others are noticed.

    Raises:
        ValueError: If there is no run or preset, or the run is one of another agent.
    """
    config = runs.read_config(folder)
    if config["agent"] != name:
        raise UsageError(f"{folder} is a run of {config['agent']}, not of {name}.")
    options = default_options(name, config["env"], preset)
    begun = {key: config[key] for key in ("env", "env_kwargs", "seed", *runs.BUDGET)}
    begun["side"] = config["sides"][0] if len(config["sides"]) == 1 else BOTH
    begun["settings"] = runs.settings_of(folder, config, learner_class(name))
    named = {"settings", *presets_of(name)[config["env"]][preset]} if preset else set()
    return dataclasses.replace(options, **{k: begun[k] for k in begun.keys() - named})


def run(name: str, options: Options, visible: bool | None = None) -> Learner:
    """Train an agent up to its budget, in the folder `out` if there is one, and return it.

    Whether progress is `visible` is explained in `baselines.progress.Progress`.

    Raises:
        ValueError: If an option is unusable; no folder has been made then.
        Interrupted: If the run was interrupted; in a folder, it can be resumed.
    """
    check_settings(options)
    check_settings(options.settings)
    options = dataclasses.replace(options, settings=learner_class(name).resolve(options.settings))
    for key in {"side", "opponent"} & options.env_kwargs.keys():
        raise UsageError(f"the {key} of env_kwargs is for evaluation: give {key} as an option.")
    task, folder = Task.of(options.env, options.env_kwargs, options.side), options.out
    config = configuration(name, task, options.seed, options.settings)
    config |= {name: getattr(options, name) for name in runs.BUDGET}
    if folder:
        config = runs.as_json(config)
        if options.resume:
            runs.check_as_begun(folder, config)
    learner = make_learner(name, task, options.seed, options.settings)
    check_state(learner)
    learner.run_config, task = config, Task.from_dict(config)
    if not options.resume:
        if folder:
            runs.check_free(folder)
        learner.prepare()
    if not folder:
        train(None, learner, task, visible)
        return learner
    with runs.lock_folder(folder):
        if options.resume:
            runs.resume(folder, learner)
        else:
            runs.begin(folder, config)
        learner.run_config = runs.read_config(folder)
        if not learner.run_config["finished"]:
            train(folder, learner, task, visible)
    return learner


def usual_folder(name: str, env_id: str, seed: object) -> Path:
    """Return where a run is if nothing else is said."""
    label, env = (text.rpartition(":")[2] for text in (name, env_id))
    return Path("runs", f"{label}-{env}-{seed}")
