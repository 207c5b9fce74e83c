"""Training: the options of a run, and `baselines.train`, which the command `train` calls, too."""

import dataclasses
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from typing_extensions import Doc

from baselines.registry import learner_class, usual_env
from baselines.settings import Count, NonNegative, Positive, Seed, check_settings, read_settings
from baselines.solver.boards import initial_value, is_solved_quickly
from baselines.task import BOTH, Shaped, Task
from baselines.training import run_folder as runs
from baselines.training.config import BUDGET, RunConfig, content_of
from baselines.training.learner import Learner
from baselines.training.loop import Callback, learn
from tile_envs.base.checks import plain
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import AnyEnv, named, resolve_id
from tile_envs.sliding import SlidingGame
from tile_envs.tictactoe import TicTacToe

KINDS = {"sliding games": SlidingGame, "tic-tac-toe": TicTacToe}
"""The kinds of games that have presets; an id has its own where they differ."""
SEEDS = Doc(
    "Train so many seeds, from --seed on, side by side in folders of their own; each has its seed "
    "at the end of its name."
)


@dataclass(frozen=True)
class Options:
    """The arguments of `train`, with the settings of the learner as one value.

    The command alone has `seeds`.
    """

    settings: Any
    env: str
    env_kwargs: Shaped[dict[str, Any]] = field(default_factory=dict)
    side: Literal["X", "O", "both"] = "both"
    games: Count | None = 100_000
    moves: Count | None = None
    minutes: Positive | None = None
    seed: Seed = 0
    out: Path | None = None
    resume: bool = False
    take_over: bool = False
    preset: str | None = None
    test_every: Count | None = None
    test_games: NonNegative | None = None
    checkpoint_every: Positive | None = None
    seeds: Annotated[Count | None, SEEDS] = None


def train(
    agent: str | type[Learner],
    env: AnyEnv | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    games: int | None = None,
    moves: int | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    side: str | None = None,
    preset: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    take_over: bool = False,
    test_every: int | None = None,
    test_games: int | None = None,
    checkpoint_every: float | None = None,
    progress: bool = False,
    callback: Callback | None = None,
    **settings: Any,
) -> Learner:
    """Train an agent, and return it.

        agent = train("ntuple", "Tiles2048-v0", minutes=1)

    What is not given is as on the command line: it comes from the preset, or from the run that is
    resumed.  The same seed and budget in games give the same agent, bit for bit.

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
        take_over: Continue a run that is locked by a process that is gone, as after a container or
            another host has been killed.
        test_every: Games between two tests; if not given, tests come after 1, 2, 5, 10, 20, 50 …
            thousand games, of dqn and ppo after 100, 200, 500 …
        test_games: Games of a test, on boards where results are not exact; 0 makes no tests.
        checkpoint_every: Seconds between two checkpoints; if not given, 30, or more where saving
            takes long.
        progress: Whether to show progress on standard error.
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
    if isinstance(agent, type):
        agent = f"{agent.__module__}:{agent.__qualname__}"
    if out == "":
        raise UsageError("out must be the name of a folder, got ''.")
    if resume and not out:
        raise UsageError("resume needs out, the folder of the run.")
    folder = None if out is None else Path(out)
    env_id, env_kwargs = named(env, env_kwargs)
    options = starting_options(agent, env_id, preset, folder if resume else None, env_kwargs)
    options = with_budget(options, games=plain(games), moves=plain(moves), minutes=plain(minutes))
    given: dict[str, Any] = {"env": env_id, "env_kwargs": env_kwargs, "seed": seed, "side": side}
    given |= {"out": folder, "resume": resume, "take_over": take_over, "test_every": test_every}
    given |= {"test_games": test_games, "checkpoint_every": checkpoint_every}
    options = replace(options, **{key: plain(v) for key, v in given.items() if v is not None})
    values = asdict(options.settings) | settings
    options = replace(options, settings=read_settings(type(options.settings), values))
    return run(agent, options, progress, callback)


Options.__doc__ = train.__doc__  # by which the command's help explains them


def with_budget(options: Options, **budget: Any) -> Options:
    """Return options with the budget that is given, if one is, and no other."""
    given = {name: value for name, value in budget.items() if value is not None}
    others: dict[str, Any] = dict.fromkeys(BUDGET)
    return replace(options, **(others | given)) if given else options


@cache
def presets_of(name: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return an agent's tuned numbers of `hyperparams.yml`, by kind of game or id, and preset."""
    text = files("baselines").joinpath("hyperparams.yml").read_text(encoding="utf-8")
    presets: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(text).get(name, {})
    return presets


def presets_for(name: str, env: str, game: Game) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return an agent's presets for an environment, each with the kind or id that it is of."""
    kinds = [kind for kind, games in KINDS.items() if isinstance(game, games)]
    known = presets_of(name)
    return {
        preset: (kind, values)
        for kind in (*kinds, env)
        for preset, values in known.get(kind, {}).items()
    }


def starting_options(
    name: str,
    env: str | None = None,
    preset: str | None = None,
    resumed: Path | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Options:
    """Return the options that a run of an agent has if no others are given.

    Args:
        name: The agent.
        env: The environment's id; None is the agent's usual one.
        preset: The preset; None is "small" on boards that are solved quickly, else "default", if
            there is one.
        resumed: The folder of a run; then the options are those that it was started with.  Those
            of a preset, if one is given, replace them, so that a difference is noticed.
        env_kwargs: The environment's options, as far as they are known.
    """
    learner = learner_class(name)
    config = RunConfig.read(resumed) if resumed else None
    if config and config.agent != name:
        raise UsageError(f"{resumed} is a run of {config.agent}, not of {name}.")
    env_id = config.env if config else resolve_id(usual_env(name) if env is None else env)
    shape = {n: v for n, v in (env_kwargs or {}).items() if n == "shape"}
    game = Task(env_id, shape).game
    presets = presets_for(name, env_id, game)
    if preset is not None and preset not in presets:
        expected = ", ".join(map(repr, presets)) or "none"
        raise UsageError(
            f"there is no preset {preset!r} for {name} on {env_id}: there is {expected} for these."
        )
    usual = "small" if "small" in presets and is_solved_quickly(game) else "default"
    _, values = presets.get(preset or usual, (name, {}))
    own = dict(values)
    names = {field.name for field in dataclasses.fields(Options)}
    common = {name: own.pop(name) for name in names & own.keys()}
    taken = (preset or usual) if values else None
    options = Options(read_settings(learner.Settings, own), env=env_id, preset=taken, **common)
    if config is None:
        return options
    begun = {name: getattr(config, name) for name in ("env", "env_kwargs", "seed", *BUDGET)}
    begun["side"] = config.sides[0] if len(config.sides) == 1 else BOTH
    begun["settings"] = learner.settings_of(config)
    named = {"settings", *values} if preset else set()
    return replace(options, **{k: v for k, v in begun.items() if k not in named})


def configuration(name: str, options: Options) -> RunConfig:
    """Return the configuration of a run."""
    check_settings(options)
    given = read_settings(type(options.settings), asdict(options.settings))
    learner = learner_class(name)
    for key in {"side", "opponent"} & options.env_kwargs.keys():
        raise UsageError(f"the {key} of env_kwargs is for evaluation: give {key} as an option.")
    task = Task.of(options.env, options.env_kwargs, options.side)
    env_kwargs, settings = dict(task.env_kwargs), asdict(learner.resolve(given))
    if settings.get("initial", 0.0) is None and isinstance(task.game, SlidingGame):
        settings["initial"] = initial_value(None, task.game)
    contents = {}
    for option, of in (("starts", env_kwargs), ("replays", settings)):
        if isinstance(of.get(option), str | Path) and of[option]:
            path = Path(of[option]).absolute()  # whatever folder the run is resumed from
            of[option], contents[option] = str(path), content_of(path)
    opponent = settings.get("opponent", "")
    if not task.sides and opponent not in ("", "random"):
        raise UsageError(f"{task.game} has no opponent, got {opponent!r}: leave it out.")
    return RunConfig(
        name,
        learner.version,
        task.env,
        env_kwargs,
        task.sides,
        settings,
        options.seed,
        **{name: getattr(options, name) for name in (*BUDGET, "test_every", "test_games")},
        preset=_preset_in_words(name, options.preset, task.env, task.game),
        contents=contents,
    )


def _preset_in_words(name: str, preset: str | None, env: str, game: Game) -> str:
    kind, values = presets_for(name, env, game).get(preset or "", (name, {}))
    return f"preset {preset} of {kind}" if values else f"defaults of {kind}"


def run(
    name: str, options: Options, visible: bool | None = None, callback: Callback | None = None
) -> Learner:
    """Train an agent up to its budget, in the folder `out` if there is one, and return it.

    Whether progress is `visible` is explained in `baselines.progress.Progress`.
    """
    kind, folder, config = learner_class(name), options.out, configuration(name, options)
    if folder:
        config = config.as_json()
    if options.resume:
        assert folder is not None
        with runs.lock_folder(folder, options.take_over):
            learner = runs.resume(folder, kind, config)
            if not learner.config.finished:
                learner.config.write(folder)
                learn(learner, folder, options.checkpoint_every, visible, callback)
            return learner
    learner = kind.new(config)
    if folder:
        runs.check_free(folder)
    learner.prepare()
    with runs.lock_folder(folder) if folder else nullcontext():
        if folder:
            runs.check_free(folder)  # again: another process may have begun one
            config.write(folder)
        learn(learner, folder, options.checkpoint_every, visible, callback)
    return learner


def usual_folder(name: str, env_id: str, seed: object) -> Path:
    """Return where a run is if nothing else is said."""
    label, env = (text.rpartition(":")[2] for text in (name, env_id))
    return Path("runs", f"{label}-{env}-{seed}")
