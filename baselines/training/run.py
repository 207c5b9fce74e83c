"""Training: what a run is made of, and `baselines.train`, which the command `train` calls, too."""

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml

from baselines.agents import BOTH, usual_env
from baselines.progress import number
from baselines.settings import Count, NonNegative, Positive, Seed, check_settings, read_settings
from baselines.solver.boards import is_solved_quickly
from baselines.training import run_folder as runs
from baselines.training.config import BUDGET, RunConfig, content_of
from baselines.training.learner import Learner, learner_class
from baselines.training.loop import Callback, learn
from baselines.training.run_folder import Run
from tile_envs.base.checks import checked_number, plain
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import AnyEnv, make, named, resolve_id
from tile_envs.sliding import SlidingGame
from tile_envs.tictactoe import TicTacToe

KINDS = {"sliding games": SlidingGame, "tic-tac-toe": TicTacToe}
"""Types of games in `hyperparams.yml`; an id overrides its type."""
USUAL: dict[str, Any] = {"env_kwargs": {}, "seed": 0, "side": BOTH, "games": 100_000}
USUAL |= dict.fromkeys(("moves", "minutes", "test_every", "test_games"))
"""What the options of every run are if nobody says more."""


def train(
    agent: str | type[Learner],
    env: AnyEnv | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    games: Count | None = None,
    moves: Count | None = None,
    minutes: Positive | None = None,
    seed: Seed | None = None,
    side: Literal["X", "O", "both"] | None = None,
    preset: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    test_every: Count | None = None,
    test_games: NonNegative | None = None,
    checkpoint_every: Positive | None = None,
    progress: bool | None = False,
    callback: Callback | None = None,
    **settings: Any,
) -> Learner:
    """Train an agent, and return it.

        agent = train("ntuple", "Tiles2048-v0", minutes=1)

    What is not given is as on the command line: it comes from the preset, or from the run that is
    resumed.  On one core, the same seed and budget in games give the same agent, bit for bit.

    Args:
        agent: The agent's name, or the class of a learner of your own.
        env: The environment or its id, if not given the one that the agent usually learns;
            my_module:Id imports the module that registers it.
        env_kwargs: The environment's options, such as {"shape": [3, 3]}.
        games: The budget in games, on each side in tic-tac-toe. A budget that is given replaces all
            of the preset's; of several, the run ends with the first that is used up.
        moves: The budget in moves, of all games together.
        minutes: The budget in minutes of learning, without compiling, tests and saving.
        seed: The seed of games and exploration.
        side: The side that is learned in tic-tac-toe.
        preset: A preset of hyperparams.yml; other options override it.
        out: The run's folder; if not given, nothing is written in Python, and the command writes
            to runs/AGENT-ENV-SEED.
        resume: Continue the run in that folder, up to its budget or another that is given; what was
            learned before counts, and its settings need not be given again.
        test_every: Games between two tests; if not given, tests come after 1, 2, 5, 10, 20, 50 …
            thousand games, of dqn and ppo after 100, 200, 500 …
        test_games: Games of a test, on boards where results are not exact; 0 makes no tests.
        checkpoint_every: Seconds between two checkpoints; if not given, 30, or more where saving
            takes long.
        progress: Whether to show progress on standard error; None is as `Progress` has it.
        callback: Called as `callback(learner, metrics)` after each iteration; if it returns False,
            training ends there, and can be resumed.
        **settings: Settings of the agent, by the names of its options.

    Returns:
        The agent, with `predict` and `save(folder)`, and `action_values` if it plays by values.

    Raises:
        ValueError: If an argument or a setting is unusable; nothing has been written then.
            If the callback raises; the run is kept, and can be resumed.
        Interrupted: If it is interrupted; a run in a folder can be resumed.
    """
    name = f"{agent.__module__}:{agent.__qualname__}" if isinstance(agent, type) else agent
    if out == "":
        raise UsageError("out must be the name of a folder, got ''.")
    if checkpoint_every is not None:
        checkpoint_every = checked_number(checkpoint_every, "checkpoint_every")
    folder, (env_id, env_kwargs) = None if out is None else Path(out), named(env, env_kwargs)
    given: dict[str, Any] = {"games": games, "moves": moves, "minutes": minutes, "seed": seed}
    given |= {"side": side, "preset": preset, "test_every": test_every, "test_games": test_games}
    ask = partial(config_for, name, env_id, env_kwargs, **given, **settings)
    if not resume:
        learner = learner_class(name).new(ask())
    elif not folder:
        raise UsageError("resume needs out, the folder of the run.")
    with runs.lock_folder(folder) if folder else nullcontext():
        if folder and resume:
            learner = resumed(folder, name, ask)
        elif folder:
            runs.check_free(folder)
        if not learner.run.finished:
            if folder:
                learner.run.write(folder)
            learn(learner, folder, checkpoint_every, progress, callback)
    return learner


def config_for(
    agent: str,
    env: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    resumed: RunConfig | None = None,
    **given: Any,
) -> RunConfig:
    """Return what decides a run: the class's defaults < a preset < a `resumed` run < what is given.

    A preset that is given with a run wins over it, so that contradictions are seen.  Without one it
    is "small" on boards that are solved quickly, else "default", if there is one.  Options of
    `train` that are None are not given; of budgets, one that is given replaces all.
    """
    learner = learner_class(agent)
    given |= {"env_kwargs": env_kwargs}
    given = {n: plain(value) for n, value in given.items() if value is not None or n not in USUAL}
    begun = {name: getattr(resumed, name) for name in USUAL} if resumed else USUAL
    options = given.get("env_kwargs", begun["env_kwargs"])
    if "max_episode_steps" in options:
        raise UsageError("learning has no time limit: give max_episode_steps to evaluate alone.")
    for key in {"side", "opponent"} & options.keys():
        raise UsageError(f"the {key} of env_kwargs is for evaluation: give {key} as an option.")
    if env is None:
        env = resumed.env if resumed else usual_env(agent)
    env_id = resolve_id(env)
    game = make(env_id, options).game
    presets = presets_for(agent, env_id, game)
    if preset is not None and preset not in presets:
        expected = ", ".join(presets) or "none"
        raise UsageError(f"{agent} has no preset {preset!r} on {env_id}: expected {expected}.")
    usual = "small" if "small" in presets and is_solved_quickly(game) else "default"
    kind, tuned = presets.get(preset or usual, (agent, {}))
    merged = begun | (resumed.settings if resumed and preset is None else tuned)
    if not given.keys().isdisjoint(BUDGET):
        merged |= dict.fromkeys(BUDGET)
    merged |= given
    settings = {name: value for name, value in merged.items() if name not in USUAL}
    env_kwargs, contents = dict(merged["env_kwargs"]), {}  # those of presets are shared
    for option, of in (("starts", env_kwargs), ("replays", settings)):
        if isinstance(of.get(option), str | Path) and of[option]:
            path = Path(of[option]).absolute()  # whatever folder the run is resumed from
            of[option], contents[option] = str(path), content_of(path)
    sides = game.sides if merged["side"] == BOTH else (merged["side"],)
    told = f"preset {preset or usual} of {kind}" if tuned else f"defaults of {kind}"
    others = {name: merged[name] for name in ("seed", *BUDGET, "test_every", "test_games")}
    others |= {"preset": told, "contents": contents}
    config = RunConfig(agent, learner.version, env_id, env_kwargs, sides, settings, **others)
    check_settings(replace(config, env_kwargs={}))  # in which there may be objects
    if config.games == 0:  # of a run that a person has taught
        raise UsageError("games must be greater than or equal to 1, got 0.")
    read = read_settings(learner.Settings, settings)
    if not game.sides and getattr(read, "opponent", "") not in ("", "random"):
        raise UsageError(f"{game} has no opponent, got {read.opponent!r}: leave it out.")
    return replace(config, settings=asdict(read))


@cache
def presets_of(name: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return an agent's tuned numbers of `hyperparams.yml`, by kind of game or id, and preset."""
    text = files("baselines").joinpath("hyperparams.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text).get(name, {}))


def presets_for(name: str, env: str, game: Game) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return an agent's presets for an environment, each with the kind or id that it is of."""
    kinds = [*(kind for kind, games in KINDS.items() if isinstance(game, games)), env]
    return {n: (kind, v) for kind in kinds for n, v in presets_of(name).get(kind, {}).items()}


def resumed(folder: Path, agent: str, ask: Callable[..., RunConfig]) -> Learner:
    """Return the learner of a run, whose folder is locked, at its last checkpoint.

    It goes on as it began, but for budget and tests; `ask` returns what decides it, given that.
    """
    run = Run.read(folder)
    begun, kind = run.config, learner_class(agent)
    if begun.agent != agent:
        raise UsageError(f"{folder} is a run of {begun.agent}, not of {agent}.")
    check_learns(folder, run)
    if (was := begun.agent_version) != kind.version:  # which may have other settings
        raise UsageError(f"{folder}: agent_version was {was}, now {kind.version}: train again.")
    learner = kind.new(ask(resumed=begun))
    config = learner.config
    if differing := "; ".join(begun.differences(config)):
        raise UsageError(f"{folder} can be resumed only as it began: {differing}.")
    progress = runs.read_progress(folder)  # a damaged one is refused before anything is learned
    has_learned = (folder / runs.CHECKPOINT).exists()
    if has_learned:
        learner.restore(runs.read_checkpoint(folder, like=learner.state_dict()))
    # A kill may have come after the checkpoint was written, and before the configuration.
    counted = (float(row["seconds"]) for row in progress if int(row["games"]) <= learner.games)
    seconds = max([run.seconds, *counted])
    for name, used in learner.used(seconds).items():
        before, now = getattr(begun, name), getattr(config, name)
        if (now or math.inf) < min(used, before or math.inf):
            raise UsageError(f"{folder} has {number(used)} {name}: give more than --{name} {now}.")
    budgets, has_changed = begun.budgets, config.budget != begun.budget
    if has_changed and has_learned:
        budgets = (*(budgets or (begun.budget,)), config.budget)
    # Its files may have been moved, and so may its device.
    as_begun = {name: getattr(begun, name) for name in ("preset", "contents", "modules")}
    config = replace(config, budgets=budgets, **as_begun)
    finished = run.finished and not has_changed
    learner.run = replace(run, config=config, seconds=seconds, finished=finished)
    return learner


def check_learns(folder: Path, run: Run) -> None:
    if run.exported:
        raise UsageError(f"{folder} was exported and cannot learn: take the run that it is of.")


def usual_folder(name: str, env: str | None, seed: int) -> Path:
    return Path("runs", f"{name.rpartition(':')[2]}-{resolve_id(env or usual_env(name))}-{seed}")
