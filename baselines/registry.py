"""All agents by name: which class each one is, how it is made, and how a trained one is loaded.

A new agent is one line of `AGENTS`.  Somebody else's is named by its class, `my_module:MyAgent`.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from baselines.arrays import size_of
from baselines.task import BOTH, Task
from baselines.training import run_folder as runs
from baselines.training.learner import Learner
from tile_envs.agents import Agent
from tile_envs.errors import UsageError, extra
from tile_envs.game import Game
from tile_envs.games import IMPORTED, import_named


class Entry(NamedTuple):
    """An agent of the registry.

    Attributes:
        path: Its class, `module:Class`.
        env: The environment that it is trained or evaluated in if none is named.
        learns: Whether it is trained before it plays.
    """

    path: str
    env: str = "Tiles2048-v0"
    learns: bool = False


AGENTS = {
    "random": Entry("baselines.agents:RandomAgent"),
    "greedy": Entry("baselines.agents:GreedyAgent"),
    "minimax": Entry("baselines.search.minimax:MinimaxAgent", "TicTacToe-v0"),
    "minimax_first": Entry("baselines.search.minimax:MinimaxFirstAgent", "TicTacToe-v0"),
    "mcts": Entry("baselines.search.mcts:MCTSAgent", "TicTacToe-v0"),
    "strong": Entry("baselines.ntuple.strong:Strong"),
    "optimal": Entry("baselines.solver.optimal:OptimalAgent"),
    "qtable": Entry("baselines.tabular.qtable:QTable", "TicTacToe-v0", learns=True),
    "value_table": Entry("baselines.tabular.value_table:ValueTable", "TicTacToe-v0", learns=True),
    "neural": Entry("baselines.deep.neural:Neural", "TicTacToe-v0", learns=True),
    "ntuple": Entry("baselines.ntuple.ntuple:NTuple", learns=True),
    "dqn": Entry("baselines.deep.dqn:DQNLearner", learns=True),
    "ppo": Entry("baselines.deep.ppo:PPOLearner", learns=True),
    "article": Entry("baselines.deep.article:Article", learns=True),
}
LEARNERS = [name for name, entry in AGENTS.items() if entry.learns]


class Player(NamedTuple):
    """An agent, and what it plays.

    Attributes:
        name: Its name in rows.
        task: What it plays; the sides of a trained agent are those that it has learned.
        trained: Whether it comes from a run.
        finished: Whether that run is finished.
    """

    agent: Agent
    name: str
    task: Task
    trained: bool
    finished: bool = True

    def sides_to_evaluate(self, side: str | None, exact: bool) -> tuple[str | None, ...]:
        """Return the sides that rows are to be made for.

        Args:
            side: The one asked for, if any: a side of the game; sampled, also "random" or "both".
            exact: Whether the evaluation is exact.

        Raises:
            ValueError: If the agent cannot be evaluated so.
        """
        sides, asked = self.task.game.sides, self.task.env_kwargs.get("side")
        if None not in (side, asked) and side != asked:
            raise UsageError(f"the side is {side!r}, and in env_kwargs {asked!r}: give it once.")
        side = side or asked
        if not sides:
            if side is not None:
                raise UsageError(f"sides are for tic-tac-toe, not for {self.task.env}.")
            return (None,)
        if side is None:
            return self.task.sides if exact or self.trained else sides[:1]
        needed = (side,) if side in sides else sides
        if missing := [s for s in needed if s not in self.task.sides]:
            raise UsageError(
                f"{self.name} was not trained to play {missing[0]}, "
                f"only {', '.join(self.task.sides)}: choose another side."
            )
        return sides if exact and side == BOTH else (side,)


def agent_class(name: str) -> type[Any]:
    """Return the class of an agent; the module of `my_module:MyAgent` is imported.

    Args:
        name: A name of the registry, or `module:Class` as a person has typed it.

    Raises:
        ValueError: If there is no such agent.
    """
    module, _, qualified = (AGENTS[name].path if name in AGENTS else name).partition(":")
    if name in AGENTS:
        with extra("baselines"):
            importlib.import_module(module)
    elif qualified:
        import_named(module)
    else:
        raise UsageError(
            f"there is no agent {name!r}: expected {', '.join(AGENTS)}, a trained run's folder "
            "(there is none of this name), or a class of your own, my_module:MyAgent."
        )
    agent = getattr(sys.modules[module], qualified, None)
    if not isinstance(agent, type) or not hasattr(agent, "predict"):
        raise UsageError(
            f"{name} is no agent: expected a class with a method predict(observation)."
        )
    return agent


def learner_class(name: str) -> type[Learner]:
    """Return the class of a learner; see `agent_class`.

    Raises:
        ValueError: If there is no such agent, or it does not learn.
    """
    if ":" not in name and name not in LEARNERS:
        raise UsageError(
            f"there is no {name!r} to train: expected {', '.join(LEARNERS)}, "
            "or a class of your own, my_module:MyLearner."
        )
    learner = agent_class(name)
    if not issubclass(learner, Learner):
        raise UsageError(f"{name} does not learn: expected a subclass of baselines.Learner.")
    if missing := sorted(getattr(learner, "__abstractmethods__", ())):
        raise UsageError(f"{name} has no {', '.join(missing)}, which a learner needs.")
    if not dataclasses.is_dataclass(learner.Settings):
        raise UsageError(f"{name}.Settings must be a dataclass, got {learner.Settings!r}.")
    for field in dataclasses.fields(learner.Settings):
        if field.default is field.default_factory is dataclasses.MISSING:
            raise UsageError(f"{name}.Settings.{field.name} needs a default.")
    return learner


def configuration(name: str, task: Task, seed: int, settings: Any) -> dict[str, Any]:
    """Return what the configuration of a run says of a learner; its budget is to be added."""
    return {
        "agent": name,
        "agent_version": learner_class(name).version,
        **task.to_dict(),
        "settings": dataclasses.asdict(settings),
        "seed": seed,
        "modules": list(IMPORTED),
        "games": 0,
        "minutes": None,
    }


def make_learner(name: str, task: Task, seed: int, settings: Any) -> Learner:
    """Return a learner of a task that has learned nothing yet, with an instance of its `Settings`.

    Raises:
        ValueError: If there is no such learner, or a setting is unusable.
    """
    values = {"game": task.game, "seed": seed, "settings": settings, "sides": task.sides}
    learner: Learner = _make(learner_class(name), values, {})
    learner.run_config = configuration(name, task, seed, settings)
    return learner


def _make(kind: type[Any], values: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    """Return an instance of a class; a user's may have other names for its first arguments."""
    taken = inspect.signature(kind)
    try:
        taken.bind(*values.values(), **options)
    except TypeError as error:
        raise UsageError(
            f"{kind.__name__} takes {', '.join(taken.parameters) or 'nothing'}, and is given "
            f"{', '.join([*values, *options])}: {error}."
        ) from error
    return kind(*values.values(), **options)


def usual_env(name: str) -> str:
    """Return the environment that an agent plays if none is named."""
    return AGENTS[name].env if name in AGENTS else "Tiles2048-v0"


def make_agent(name: str, game: Game, seed: int = 0, **options: Any) -> Agent:
    """Return an agent that needs no training, for a game, with options of its own.

    Raises:
        ValueError: If there is no such agent, it does not play this game, or needs training.
    """
    if name in LEARNERS:
        raise UsageError(f"{name} must be trained first: give the folder of a trained run.")
    agent: Agent = _make(agent_class(name), {"game": game, "seed": seed}, options)
    return agent


def names_run(name: str) -> bool:
    """Tell whether an agent is named by the folder of its run, or a model in that."""
    return name not in AGENTS and (Path(name).is_dir() or Path(name).suffix == runs.MODEL_SUFFIX)


def player(
    name: str,
    env_id: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
    agent_kwargs: Mapping[str, Any] | None = None,
) -> Player:
    """Return an agent with what it plays, by its name or its run's folder.

    Args:
        name: A name of the registry, `module:Class`, the folder of a run, or a model in that.
        env_id: The environment's id; None is the one of the run, or the agent's usual one.
        env_kwargs: The environment's options, added to those of a run.
        seed: The seed of a named agent's own random numbers.
        agent_kwargs: A named agent's own options.

    Raises:
        ValueError: If there is no such agent, or it does not play this environment.
    """
    if not names_run(name):
        task = Task.of(usual_env(name) if env_id is None else env_id, env_kwargs)
        agent = make_agent(name, task.game, seed, **(agent_kwargs or {}))
        return Player(agent, name.rpartition(":")[2], task, trained=False)
    asked = Task.of(env_id).env if env_id is not None else None  # imports the id's module
    trained = load_player(name)
    if asked not in (None, trained.task.env):
        raise UsageError(f"{name} was trained in {trained.task.env}, not in {asked}.")
    if agent_kwargs:
        raise UsageError(f"{name} is a trained agent and takes no options, got {agent_kwargs!r}.")
    options = {**trained.task.env_kwargs, **(env_kwargs or {})}
    task = dataclasses.replace(Task.of(trained.task.env, options), sides=trained.task.sides)
    return trained._replace(task=task)


def with_search(player: Player, depth: int | None, options: Mapping[str, Any]) -> Player:
    """Return an agent that searches with the action values of another; without a depth, the other.

    The depth is in moves of the player, and the options are those of `Expectimax`.

    Raises:
        ValueError: If the agent has no values, or an option is unusable.
    """
    if depth is None:
        return player
    expectimax = importlib.import_module("baselines.search.expectimax").Expectimax
    if not hasattr(player.agent, "action_values"):
        raise UsageError(
            f"a search takes an agent's action values, and {player.name} has no action_values."
        )
    values = {"agent": player.agent, "game": player.task.game, "depth": depth}
    agent = _make(expectimax, values, options)
    return player._replace(agent=agent, name=f"{player.name} {depth}-ply")


def load(path: str | Path, env: str | None = None) -> Agent:
    """Load a trained agent.

        agent = load("runs/2048")
        actions, _ = agent.predict(boards)

    Args:
        path: The folder of a run, a model in it, such as `runs/d/best.zip`, or a name such as
            `strong`, the networks that come with the package.
        env: The environment's id; None is the one of the run, or the agent's usual one.

    Raises:
        ValueError: If there is none, its files are damaged or do not belong together, or it does
            not play this environment.
    """
    named = env is not None or str(path) in AGENTS
    return player(str(path), env).agent if named else load_player(path).agent


def load_player(path: str | Path) -> Player:
    """Load a trained agent with what it plays; see `load`."""
    path = Path(path)
    folder = path.parent if path.suffix == runs.MODEL_SUFFIX else path
    config = runs.read_config(folder)
    name = config["agent"]
    try:
        task = Task.from_dict(config)
        kind = _class_in_a_file(name)
        settings = dataclasses.replace(runs.settings_of(folder, config, kind), **kind.playing)
        learner = make_learner(name, task, config["seed"], runs.as_played(settings))
        learner.run_config = config
        own = learner.state_dict()
        needless = set(kind.learning_only).difference(*map(str.split, own))
        learner.restore(runs.read_checkpoint(folder, size_of(own), needless))
        if path != folder:
            learner.load_model(path)
    except UsageError as error:
        if missing := [module for module in config["modules"] if module not in sys.modules]:
            raise UsageError(
                f"{folder}: it needs the module {', '.join(missing)}: import it first, "
                "with --import"
            ) from error
        if str(error).startswith(str(folder)):
            raise
        raise UsageError(f"{folder}: {error}") from error
    label = name.rpartition(":")[2]
    return Player(learner, label, task, trained=True, finished=config["finished"])


def _class_in_a_file(name: str) -> type[Learner]:
    """Return the learner that a file names; never imports a module that only a file names."""
    if name not in AGENTS and name.partition(":")[0] not in sys.modules:
        raise UsageError(f"{runs.CONFIG} names the agent {name!r}, which is not known here.")
    return learner_class(name)
