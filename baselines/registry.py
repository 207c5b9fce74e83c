"""All agents by name: which class each one is, and how one without training is made.

A new agent is one line of `AGENTS`.  Somebody else's is named by its class, `my_module:MyAgent`.
"""

import importlib
import sys
from pathlib import Path
from typing import Any, NamedTuple

from baselines.agents import instance
from baselines.training.learner import Learner
from tile_envs.agents import Agent
from tile_envs.errors import UsageError, extra
from tile_envs.game import Game
from tile_envs.games import import_named


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
    "optimal": Entry("baselines.solver.optimal:OptimalAgent"),
    "qtable": Entry("baselines.tabular.qtable:QTable", "TicTacToe-v0", learns=True),
    "value_table": Entry("baselines.tabular.value_table:ValueTable", "TicTacToe-v0", learns=True),
    "neural": Entry("baselines.deep.neural:Neural", "TicTacToe-v0", learns=True),
    "ntuple": Entry("baselines.ntuple.ntuple:NTuple", learns=True),
    "dqn": Entry("baselines.deep.dqn:DQNLearner", learns=True),
    "ppo": Entry("baselines.deep.ppo:PPOLearner", learns=True),
}
STRONG = "strong"
"""The name of the trained networks that come with the package."""
STRONG_FOLDER = Path(__file__).with_name(STRONG)
"""The exports of runs with the preset of this name, in folders called as their games."""
NAMES = (*AGENTS, STRONG)
LEARNERS = [name for name, entry in AGENTS.items() if entry.learns]


def agent_class(name: str) -> type[Any]:
    """Return the class of an agent; the module of `my_module:MyAgent` is imported.

    Args:
        name: A name of the registry, or `module:Class` as a person has typed it.
    """
    module, _, qualified = (AGENTS[name].path if name in AGENTS else name).partition(":")
    if name in AGENTS:
        with extra("baselines"):
            importlib.import_module(module)
    elif qualified.replace(".", "_").isidentifier():  # else a path of Windows, perhaps
        import_named(module)
    else:
        raise UsageError(
            f"there is no agent {name!r}: expected {', '.join(NAMES)}, a trained "
            "run's folder (there is none of this name), or a class of your own, my_module:MyAgent."
        )
    agent = getattr(sys.modules[module], qualified, None)
    if not isinstance(agent, type) or not hasattr(agent, "predict"):
        raise UsageError(
            f"{name} is no agent: expected a class with a method predict(observation)."
        )
    return agent


def learner_class(name: str) -> type[Learner]:
    """Return the class of a learner; see `agent_class`."""
    if ":" not in name and name not in LEARNERS:
        raise UsageError(
            f"there is no {name!r} to train: expected {', '.join(LEARNERS)}, "
            "or a class of your own, my_module:MyLearner."
        )
    learner = agent_class(name)
    if not issubclass(learner, Learner):
        raise UsageError(f"{name} does not learn: expected a subclass of baselines.Learner.")
    return learner


def usual_env(name: str) -> str:
    """Return the environment that an agent plays if none is named."""
    return AGENTS[name].env if name in AGENTS else "Tiles2048-v0"


def make_agent(name: str | type[Any], game: Game, seed: int = 0, **options: Any) -> Agent:
    """Return an agent that needs no training, for a game, with options of its own."""
    kind = name if isinstance(name, type) else agent_class(name)
    if issubclass(kind, Learner):
        raise UsageError(f"{name} must be trained first: give the folder of a trained run.")
    agent: Agent = instance(kind, {"game": game, "seed": seed}, **options)
    return agent
