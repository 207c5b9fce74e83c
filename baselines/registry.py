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

from baselines.task import BOTH, Task
from baselines.training.learner import Learner, size_of
from baselines.training.run_folder import (
    CONFIG,
    MODEL_SUFFIX,
    as_played,
    read_checkpoint,
    read_config,
    settings_of,
)
from tile_envs.agents import Agent
from tile_envs.errors import UsageError
from tile_envs.extras import extra
from tile_envs.game import Game
from tile_envs.games import import_named


class Entry(NamedTuple):
    """An agent of the registry.

    Attributes:
        path: Its class, `module:Class`.
        plays: The games that it plays, for people to read.
        env: The environment that it is trained or evaluated in if none is named.
        learns: Whether it is trained before it plays.
    """

    path: str
    plays: str
    env: str
    learns: bool = False


EVERY = ("every game", "Tiles2048-v0")
SLIDING = ("sliding games", "Tiles2048-v0")
TICTACTOE = ("tic-tac-toe", "TicTacToe-v0")

AGENTS = {
    "random": Entry("baselines.agents:RandomAgent", *EVERY),
    "greedy": Entry("baselines.agents:GreedyAgent", *EVERY),
    "minimax": Entry("baselines.search.minimax:MinimaxAgent", *TICTACTOE),
    "minimax_first": Entry("baselines.search.minimax:MinimaxFirstAgent", *TICTACTOE),
    "mcts": Entry("baselines.search.mcts:MCTSAgent", *TICTACTOE),
    "optimal": Entry(
        "baselines.solver.optimal:OptimalAgent", "sliding games on small boards", "Tiles2048-v0"
    ),
    "qtable": Entry(
        "baselines.tabular.qtable:QTable",
        "tic-tac-toe, small sliding boards",
        "TicTacToe-v0",
        learns=True,
    ),
    "value_table": Entry("baselines.tabular.value_table:ValueTable", *TICTACTOE, learns=True),
    "neural": Entry("baselines.deep.neural:Neural", *TICTACTOE, learns=True),
    "ntuple": Entry("baselines.ntuple.ntuple:NTuple", *SLIDING, learns=True),
    "dqn": Entry("baselines.deep.dqn:DQNLearner", *EVERY, learns=True),
    "ppo": Entry("baselines.deep.ppo:PPOLearner", *EVERY, learns=True),
    "article": Entry("baselines.deep.article:Article", *SLIDING, learns=True),
}


class Player(NamedTuple):
    """An agent, and what it plays.

    Attributes:
        agent: The agent.
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
        sides = self.task.game.sides
        if not sides:
            if side is not None:
                raise UsageError(f"sides are for tic-tac-toe, not for {self.task.env}.")
            return (None,)
        if side not in (None, *sides, "random", BOTH):
            raise UsageError(f"side must be {', '.join(sides)}, random or both, got {side!r}.")
        if side is None:
            usual = (self.task.env_kwargs.get("side", sides[0]),)
            return self.task.sides if exact or self.trained else usual
        needed = (side,) if side in sides else sides
        if exact and side == BOTH:
            needed, side = sides, None
        if exact and side not in (*sides, None):
            raise UsageError(f"exact evaluation takes side X, O or both, got {side!r}.")
        if missing := [s for s in needed if s not in self.task.sides]:
            raise UsageError(
                f"{self.name} was not trained to play {missing[0]}, "
                f"only {', '.join(self.task.sides)}."
            )
        return needed if side is None else (side,)


def agent_class(name: str) -> type[Any]:
    """Return the class of an agent; the module of `my_module:MyAgent` is imported.

    Args:
        name: A name of the registry, or `module:Class` as a person has typed it.

    Raises:
        ValueError: If there is no such agent.
    """
    if ":" not in name and name not in AGENTS:
        raise UsageError(
            f"there is no agent {name!r}: expected {', '.join(AGENTS)}, a trained run's folder "
            "(there is none of this name), or a class of your own, my_module:MyAgent."
        )
    module, _, qualified = (AGENTS[name].path if name in AGENTS else name).partition(":")
    if name in AGENTS:
        with extra("baselines"):
            importlib.import_module(module)
    else:
        import_named(module)
    found = getattr(sys.modules[module], qualified, None)
    if found is None:
        raise UsageError(f"{name}: the module {module} has no class {qualified!r}.")
    if not isinstance(found, type) or not hasattr(found, "predict"):
        raise UsageError(
            f"{name} is no agent: expected a class with a method predict(observation)."
        )
    return found


def learner_class(name: str) -> type[Learner]:
    """Return the class of a learner; see `agent_class`.

    Raises:
        ValueError: If there is no such agent, or it does not learn.
    """
    learners = [known for known, entry in AGENTS.items() if entry.learns]
    if ":" not in name and name not in learners:
        raise UsageError(
            f"there is no {name!r} to train: expected {', '.join(learners)}, "
            "or a class of your own, my_module:MyLearner."
        )
    found = agent_class(name)
    if not issubclass(found, Learner):
        raise UsageError(f"{name} does not learn: expected a subclass of baselines.Learner.")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise UsageError(f"{name} has no {', '.join(missing)}, which a learner needs.")
    if not dataclasses.is_dataclass(found.Settings):
        raise UsageError(f"{name}.Settings must be a dataclass, got {found.Settings!r}.")
    for field in dataclasses.fields(found.Settings):
        if field.default is field.default_factory is dataclasses.MISSING:
            raise UsageError(f"{name}.Settings.{field.name} needs a default.")
    return found


def make_learner(name: str, task: Task, seed: int, settings: Any) -> Learner:
    """Return a learner that has learned nothing yet.

    Args:
        name: A name of the registry, or `module:Class`.
        task: What it learns.
        seed: The seed of everything that it draws.
        settings: An instance of its `Settings`.

    Raises:
        ValueError: If there is no such learner, or a setting is unusable.
    """
    learner: Learner = _made(learner_class(name), name, task.game, seed, settings, task.sides)
    return learner


def _made(known: type[Any], name: str, *arguments: Any, **options: Any) -> Any:
    """Return an instance of an agent's class.

    Raises:
        ValueError: If it takes other arguments.
    """
    expected = "game, seed, settings, sides" if issubclass(known, Learner) else "game, seed"
    try:
        inspect.signature(known).bind(*arguments, **options)
    except TypeError as error:
        raise UsageError(f"{name} must be made as {known.__name__}({expected}): {error}.") from None
    return known(*arguments, **options)


def usual_env(name: str) -> str:
    """Return the environment that an agent plays if none is named."""
    return AGENTS[name].env if name in AGENTS else "Tiles2048-v0"


def make_agent(name: str, game: Game, seed: int = 0, **options: Any) -> Agent:
    """Return an agent that needs no training.

    Args:
        name: A name of the registry, or `module:Class`.
        game: The game that it is to play.
        seed: The seed of the agent's own random numbers.
        **options: The agent's own options.

    Raises:
        ValueError: If there is no such agent, it does not play this game, or needs training.
    """
    if name in AGENTS and AGENTS[name].learns:
        raise UsageError(f"{name} must be trained first: give the folder of a trained run.")
    found = agent_class(name)
    known = list(inspect.signature(found).parameters)[2:]
    if unknown := [option for option in options if option not in known]:
        raise UsageError(
            f"{name} has no option {unknown[0]!r}, only {', '.join(known) or 'none at all'}."
        )
    agent: Agent = _made(found, name, game, seed, **options)
    return agent


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
    if name in AGENTS or not (Path(name).is_dir() or Path(name).suffix == MODEL_SUFFIX):
        task = Task.of(env_id or usual_env(name), env_kwargs)
        agent = make_agent(name, task.game, seed, **(agent_kwargs or {}))
        return Player(agent, name.rpartition(":")[2], task, trained=False)
    asked = Task.of(env_id).env if env_id is not None else None  # imports the id's module
    known = load_player(name)
    if asked not in (None, known.task.env):
        raise UsageError(f"{name} was trained in {known.task.env}, not in {asked}.")
    if agent_kwargs:
        raise UsageError(f"{name} is a trained agent and takes no options, got {agent_kwargs!r}.")
    options = {**known.task.env_kwargs, **(env_kwargs or {})}
    task = dataclasses.replace(Task.of(known.task.env, options), sides=known.task.sides)
    return known._replace(task=task)


def searching(found: Player, depth: int, options: Mapping[str, Any]) -> Player:
    """Return an agent that searches with the action values of another.

    Args:
        found: An agent of a sliding game with `action_values`.
        depth: The search depth, in moves of the player.
        options: Those of `baselines.search.expectimax.Expectimax`.

    Raises:
        ValueError: If the agent has no values, or an option is unusable.
    """
    expectimax = importlib.import_module("baselines.search.expectimax").Expectimax
    if not hasattr(found.agent, "action_values"):
        raise UsageError(
            f"a search takes the values of a trained agent, and {found.name} has no action_values."
        )
    known = list(inspect.signature(expectimax).parameters)[3:]
    if unknown := [option for option in options if option not in known]:
        raise UsageError(f"a search has no option {unknown[0]!r}, only {', '.join(known)}.")
    agent = expectimax(found.agent, found.task.game, depth, **options)
    return found._replace(agent=agent, name=f"{found.name} {depth}-ply")


def load(path: str | Path) -> Agent:
    """Load a trained agent.

        agent = load("runs/2048")
        actions, _ = agent.predict(boards)

    Args:
        path: The folder of a run, or a model in it, such as `runs/d/best.zip`.

    Raises:
        ValueError: If there is none, or its files are damaged or do not belong together.
    """
    return load_player(path).agent


def load_player(path: str | Path) -> Player:
    """Load a trained agent with what it plays; see `load`."""
    path = Path(path)
    folder = path.parent if path.suffix == MODEL_SUFFIX else path
    config = read_config(folder)
    name = config["agent"]
    try:
        task, known = Task.from_dict(config), _class_in_a_file(name)
        settings = as_played(settings_of(folder, config, known))
        learner = _made(known, name, task.game, config["seed"], settings, task.sides)
        learner.restore(read_checkpoint(folder, size_of(learner)))
        if path != folder:
            learner.load_model(path)
    except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError) as error:
        message = " ".join(str(error).split()).removeprefix(f"{folder}: ")
        if missing := [m for m in config.get("modules") or [] if m not in sys.modules]:
            message = f"it needs the module {', '.join(missing)}: import it first, with --import"
        if message.startswith((str(folder), str(path))):
            raise UsageError(message) from None
        raise UsageError(f"{folder}: {message}") from None
    label = name.rpartition(":")[2]
    return Player(learner, label, task, trained=True, finished=config["finished"])


def _class_in_a_file(name: str) -> type[Learner]:
    """Return the learner that a file names, which makes no module be imported.

    Raises:
        ValueError: If it is no learner, or its module has not been imported by a person.
    """
    if name not in AGENTS and name.partition(":")[0] not in sys.modules:
        raise UsageError(f"{CONFIG} names the agent {name!r}, which is not known here.")
    return learner_class(name)
