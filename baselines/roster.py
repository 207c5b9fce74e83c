"""All agents: those with a name, those that can be trained, those that have been, by folder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

import tile_envs  # noqa: F401
from baselines.agent import GreedyAgent, RandomAgent, ValueAgent
from baselines.learner import SIDES, Learner
from baselines.runs import CONFIG, read_checkpoint, read_config
from baselines.search.minimax import MinimaxAgent, MinimaxFirstAgent
from tile_envs.agents import Agent
from tile_envs.game_env import GameEnv
from tile_envs.tictactoe.env import TicTacToeEnv

NAMED = ("random", "greedy", "minimax", "minimax_first", "mcts")
TRAINABLE = ("qtable", "value_table", "neural", "ntuple", "dqn", "ppo", "article")
MODEL_SUFFIX = ".zip"  # of Stable-Baselines3


class Contestant(NamedTuple):
    """An agent, and where it plays.

    Attributes:
        agent: The agent.
        name: What rows call it.
        env: The environment's id.
        env_kwargs: The environment's options.
        sides: The sides that it plays in tic-tac-toe; none in a sliding game.
        trained: Whether it has learned these sides, and no others.
    """

    agent: Agent
    name: str
    env: str
    env_kwargs: dict[str, Any]
    sides: tuple[str, ...]
    trained: bool

    def sides_to_judge(self, side: str | None, exact: bool) -> tuple[str | None, ...]:
        """Return the sides that rows are to be made for, one after the other.

        Args:
            side: The one asked for, if any: "X" or "O"; sampled, also "random" and "both".
            exact: Whether to judge exactly.

        Raises:
            ValueError: If the agent cannot be judged so.
        """
        if not self.sides:
            if side is not None or exact:
                raise ValueError(f"sides and the exact judge are for tic-tac-toe, not {self.env}.")
            return (None,)
        if side not in (None, *SIDES, "random", "both"):
            raise ValueError(f"side must be X, O, random or both, got {side!r}.")
        if side is None:
            return self.sides if exact or self.trained else (self.env_kwargs.get("side", "X"),)
        needed = (side,) if side in SIDES else SIDES
        if exact and side == "both":
            needed, side = SIDES, None
        if exact and side not in (*SIDES, None):
            raise ValueError(f"the exact judge takes side X, O or both, got {side!r}.")
        if missing := [s for s in needed if s not in self.sides]:
            raise ValueError(
                f"{self.name} was not trained to play {missing[0]}, only {', '.join(self.sides)}."
            )
        return needed if side is None else (side,)


def make_agent(
    name: str,
    env_id: str,
    env_kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
    **agent_kwargs: Any,
) -> Agent:
    """Return an agent that needs no training.

    Args:
        name: One of `NAMED`.
        env_id: The environment that it is to play.
        env_kwargs: The environment's options.
        seed: Starts the agent's own random numbers.
        **agent_kwargs: The agent's own options.

    Raises:
        ValueError: If there is no such agent, or it does not play this environment.
    """
    if name not in NAMED:
        raise ValueError(
            f"there is no agent {name!r}: expected {', '.join(NAMED)}, or a trained run's folder."
        )
    env = gym.make(env_id, **(env_kwargs or {}))
    if not isinstance(env.unwrapped, GameEnv):
        raise ValueError(f"{env_id} is not an environment of this package.")
    if name == "mcts":  # numba takes a second to import
        from baselines.search.mcts import MCTSAgent

        return MCTSAgent(env, seed, **agent_kwargs)
    simple: dict[str, Callable[..., Agent]] = {
        "random": RandomAgent,
        "greedy": GreedyAgent,
        "minimax": MinimaxAgent,
        "minimax_first": MinimaxFirstAgent,
    }
    return simple[name](env, seed, **agent_kwargs)


def classes(name: str) -> tuple[Any, Any]:
    """Return the class of a learner and that of its settings.

    Raises:
        ValueError: If there is none of that name.
    """
    if name == "qtable":
        from baselines.tabular.qtable import QTable, QTableSettings

        return QTable, QTableSettings
    if name == "value_table":
        from baselines.tabular.value_table import ValueTable, ValueTableSettings

        return ValueTable, ValueTableSettings
    if name == "neural":  # torch takes seconds to import
        from baselines.deep.tictactoe_net import Neural, NeuralSettings

        return Neural, NeuralSettings
    if name == "ntuple":  # numba takes a second to import
        from baselines.ntuple.learning import NTuple, NTupleSettings

        return NTuple, NTupleSettings
    if name == "dqn":
        from baselines.deep.dqn import DQNLearner, DQNSettings

        return DQNLearner, DQNSettings
    if name == "ppo":
        from baselines.deep.ppo import PPOLearner, PPOSettings

        return PPOLearner, PPOSettings
    if name == "article":
        from baselines.deep.article import Article, ArticleSettings

        return Article, ArticleSettings
    raise ValueError(f"there is no {name!r} to train: expected {', '.join(TRAINABLE)}.")


def sides_of(env: gym.Env[Any, Any], side: str) -> tuple[str, ...]:
    """Return the sides that are to be learned: "X", "O" or both; none in a sliding game.

    Raises:
        ValueError: If there is no such side, or the game has none.
    """
    if not isinstance(env.unwrapped, TicTacToeEnv):
        if side != "both":
            raise ValueError(f"side is for tic-tac-toe, which has two, got {side!r}: leave it out.")
        return ()
    if side not in (*SIDES, "both"):
        raise ValueError(f"side must be X, O or both, got {side!r}.")
    return SIDES if side == "both" else (side,)


def make_learner(
    name: str,
    env_id: str,
    env_kwargs: Mapping[str, Any],
    sides: tuple[str, ...],
    settings: Any,
    seed: int,
) -> Learner:
    """Make a learner that knows nothing yet.

    Raises:
        ValueError: If a setting is unusable, or the environment is not one it can learn in.
    """
    learner: Learner = classes(name)[0](gym.make(env_id, **env_kwargs), sides, settings, seed)
    return learner


def contestant(
    name: str,
    env_id: str | None,
    env_kwargs: Mapping[str, Any],
    seed: int,
    agent_kwargs: Mapping[str, Any],
) -> Contestant:
    """Return an agent that is known by its name or by its folder.

    Args:
        name: One of `NAMED`, the folder of a trained run, or a model in that.
        env_id: The environment's id; None is the one of the trained run, or Tiles2048-v0.
        env_kwargs: The environment's options; those of a trained run are taken over.
        seed: Starts a named agent's own random numbers.
        agent_kwargs: A named agent's own options.

    Raises:
        ValueError: If there is no such agent, or it does not play this environment.
    """
    if name in NAMED or not (Path(name).is_dir() or Path(name).suffix == MODEL_SUFFIX):
        env_id = env_id or "Tiles2048-v0"
        agent = make_agent(name, env_id, env_kwargs, seed, **agent_kwargs)
        sides = sides_of(gym.make(env_id, **env_kwargs), "both")
        return Contestant(agent, name, env_id, dict(env_kwargs), sides, trained=False)
    known = load(Path(name))
    if env_id not in (None, known.env):
        raise ValueError(f"{name} was trained in {known.env}, not in {env_id}.")
    if agent_kwargs:
        raise ValueError(f"{name} is a trained agent and takes no options, got {agent_kwargs!r}.")
    return known._replace(env_kwargs=known.env_kwargs | dict(env_kwargs))


def searching(player: Contestant, depth: int, options: Mapping[str, Any]) -> Contestant:
    """Return an agent that searches with the values of another.

    Args:
        player: One that plays a sliding game by values.
        depth: How many moves are looked at.
        options: Those of `baselines.search.expectimax.Expectimax`.

    Raises:
        ValueError: If it plays in another way, or an option is unusable.
    """
    from baselines.search.expectimax import Expectimax

    if not isinstance(player.agent, ValueAgent):
        raise ValueError(
            f"a search takes the values of a trained agent, and {player.name} has none."
        )
    known = list(inspect.signature(Expectimax).parameters)[3:]
    if unknown := [option for option in options if option not in known]:
        raise ValueError(f"a search has no option {unknown[0]!r}, only {', '.join(known)}.")
    env = gym.make(player.env, **player.env_kwargs)
    agent = Expectimax(player.agent, env, depth, **options)
    return player._replace(agent=agent, name=f"{player.name} {depth}-ply")


def load(path: str | Path) -> Contestant:
    """Load a trained agent from its run's folder, or from a model there, such as its best.

    Raises:
        ValueError: If there is none, or its files are damaged or do not belong together.
    """
    path = Path(path)
    folder = path.parent if path.suffix == MODEL_SUFFIX else path
    config = read_config(folder)
    name, env_id, env_kwargs = config["agent"], config["env"], config["env_kwargs"]
    settings, state = read_settings(folder, config), read_checkpoint(folder)
    sides = tuple(config["sides"])
    try:
        learner = make_learner(name, env_id, env_kwargs, sides, settings, config["seed"])
        learner.restore(state)
        if path != folder:
            learner.load_model(path)
    except (TypeError, ValueError, gym.error.Error) as error:
        raise ValueError(f"{folder}: {error}") from None
    return Contestant(learner, name, env_id, env_kwargs, sides, trained=True)


def read_settings(folder: Path, config: Mapping[str, Any]) -> Any:
    """Return the settings that a run's config holds.

    Raises:
        ValueError: If it has been changed so that they cannot be read.
    """
    try:
        settings_class = classes(config["agent"])[1]
        known, given = {field.name for field in fields(settings_class)}, config["settings"]
        if unknown := given.keys() - known:
            raise ValueError(f"{', '.join(sorted(unknown))} is no setting of {config['agent']}")
        # JSON knows no tuples.
        return settings_class(
            **{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{folder / CONFIG} has been damaged: {error}.") from None
