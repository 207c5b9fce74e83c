"""What agents have in common, what they play, their names, and those that need no training.

An agent is anything with Stable-Baselines3's `predict`, batched (`tile_envs.agents.Agent`), so that
SB3's `evaluate_policy` takes ours, and our evaluation takes any SB3 model.  Stochastic agents also
have `action_probabilities(observations) -> (n, actions)`, and agents that play by values have
`action_values(observations) -> (n, actions)`.

An agent is made as `MyAgent(game, seed)`; see `tile_envs.game` for what a game offers.  Names are
in `AGENTS`; an agent of one's own is named by its class, `my_module:MyAgent`.
"""

import inspect
import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tile_envs.base.checks import brief, checked_mapping, checked_seed
from tile_envs.base.random_stream import consecutive, mix
from tile_envs.errors import UsageError, extra
from tile_envs.game import Bools, Floats, Game, Ints, Observations, describe
from tile_envs.games import import_named, make, resolve_id

Values = Callable[[Any, Observations], Floats]  # a method that gives action values
BOTH = "both"
BOARD_AXES = 2  # rows and columns: one board, not a batch


class BoardAgent(ABC):
    """Plays boards, one or many at once, in the form that Stable-Baselines3 asks for."""

    version: ClassVar[int] = 1
    """Raised when the agent's results change; each row of results names it."""

    @abstractmethod
    def choose_actions(self, boards: Observations, deterministic: bool) -> Ints:
        """Return an action for each board, `(n,)`: 0 where none is legal."""

    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: Bools | None = None,
        deterministic: bool = True,
    ) -> tuple[Ints, Any]:
        """Return an action for each observation, and `state` as it is.

        Observations `(n, ...)` are as the vector environments give them; actions are `(n,) int64`,
        0 where none is legal.  Of a single observation it is a single action.  If `deterministic`,
        it is the best one; agents that always draw do not ask.  `episode_start` is not used.
        """
        if np.ndim(observation) > BOARD_AXES:
            return self.choose_actions(observation, deterministic), state
        return self.choose_actions(np.asarray(observation)[None], deterministic)[0], state

    def __repr__(self) -> str:
        game, games = getattr(self, "game", getattr(self, "_game", "")), getattr(self, "games", 0)
        return f"{type(self).__name__}({game}{f', {games:,} games' * bool(games)})"


class StochasticAgent(BoardAgent):
    """Draws actions, by random numbers of its own, from the probabilities that a subclass gives."""

    def __init__(self, game: Game, seed: int = 0) -> None:
        self._game = game
        self._rng = np.random.default_rng(checked_seed(seed))

    @abstractmethod
    def action_probabilities(self, observations: Observations) -> Floats:
        """Return the probability of each action, `(n, actions)`, all zero where none is legal."""

    def choose_actions(self, boards: Observations, deterministic: bool) -> Ints:
        """Draw an action for each board, `(n,)`."""
        cumulative = self.action_probabilities(boards).cumsum(axis=1)
        drawn = self._rng.random(len(cumulative)) * cumulative[:, -1]
        return np.asarray((cumulative > drawn[:, None]).argmax(axis=1))


def one_or_many(batch_values: Values) -> Values:
    """Return a method that gives the action values of a single board as well as of a batch."""

    @wraps(batch_values)
    def action_values(agent: Any, observations: Observations) -> Floats:
        if np.ndim(observations) > BOARD_AXES:
            return batch_values(agent, observations)
        (values,) = batch_values(agent, np.asarray(observations)[None])
        return np.asarray(values)

    return action_values


class ValueAgent(BoardAgent):
    """Plays the action with the highest value that a subclass gives."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `action_values` take a single board as well; a subclass writes it for batches."""
        super().__init_subclass__(**options)
        if batch_values := vars(cls).get("action_values"):
            cls.action_values = one_or_many(batch_values)  # type: ignore[assignment]

    @abstractmethod
    def action_values(self, observations: Observations) -> Floats:
        """Return the value of each action, `(n, actions)`; minus infinity for illegal ones.

        Those of a single board are `(actions,)`.

        Raises:
            ValueError: If these are not boards of the game.
        """

    def choose_actions(self, boards: Observations, deterministic: bool) -> Ints:
        """Return the first best action of each board, `(n,)`."""
        return np.asarray(self.action_values(boards).argmax(axis=1))


class RandomAgent(StochasticAgent):
    """Plays any legal action, all with the same probability."""

    def action_probabilities(self, observations: Observations) -> Floats:
        """Return equal probabilities of the legal actions."""
        return equal_probabilities(self._game.legal_actions(observations) > 0)


class GreedyAgent(StochasticAgent):
    """Plays the action with the highest immediate reward; ties are broken uniformly."""

    def action_probabilities(self, observations: Observations) -> Floats:
        """Return equal probabilities of the legal actions with the highest reward."""
        _, rewards, masks = self._game.afterstates(observations)
        rewards = np.where(masks, rewards, -1)
        best = rewards == rewards.max(axis=1, keepdims=True)
        return equal_probabilities(best & masks.astype(np.bool_))


def equal_probabilities(marked: Bools | Ints) -> Floats:
    """Return equal probabilities, in each row, of the marked actions, if there are any."""
    return np.asarray(marked / np.maximum(marked.sum(axis=1, keepdims=True), 1))


def is_agent(value: object) -> bool:
    """Tell whether something plays; `action_probabilities` alone are enough for exact results."""
    return hasattr(value, "predict") or hasattr(value, "action_probabilities")


def instance(kind: type[Any], values: Mapping[str, Any], /, **options: Any) -> Any:
    """Return an instance of a class; required arguments are passed by position."""
    check_takes(kind, values, options)
    return kind(*values.values(), **options)


def check_takes(kind: type[Any], names: Collection[str], options: Mapping[str, Any] = {}) -> None:
    """Check that a class is made with so many arguments, whatever it calls them, and options."""
    taken = inspect.signature(kind)
    try:
        taken.bind(*names, **options)
    except TypeError as error:
        takes, got = ", ".join(taken.parameters) or "nothing", ", ".join([*names, *options])
        raise UsageError(f"{kind.__name__} takes {takes}, and is given {got}: {error}.") from error


def distinct(boards: Observations) -> tuple[Observations, Ints]:
    """Return the different boards `(m, ...)` among boards `(n, ...)`, and which `(n,)` each is."""
    # They are told apart by words of 64 bits, which hardly two of 2^32 boards share.
    cells = boards.reshape(len(boards), math.prod(boards.shape[1:]))
    factors = mix(consecutive(1, cells.shape[1]))
    _, firsts, which = np.unique(
        cells.astype(np.uint64) @ factors, return_index=True, return_inverse=True
    )
    return boards[firsts], which


@dataclass(frozen=True)
class Task:
    """What an agent plays: an environment's id and options, as `gym.make` takes them."""

    env: str
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    sides: tuple[str, ...] = ()  # that are learned or evaluated; none in a game of one player

    @classmethod
    def of(cls, env_id: str, env_kwargs: Mapping[str, Any] | None = None) -> "Task":
        """Return the task that a person asks for; the id may be `my_module:Id`, to be imported."""
        task = cls(resolve_id(env_id), checked_mapping(env_kwargs, "env_kwargs"))
        return replace(task, sides=task.game.sides)

    @property
    def key(self) -> tuple[Any, ...]:
        """What tasks share that are played alike, however their options are written."""
        env = make(self.env, self.env_kwargs)
        return self.env, describe(env.game), env.max_illegal, env.max_episode_steps

    @cached_property
    def game(self) -> Game:
        """The game that the environment plays."""
        game: Game = make(self.env, self.env_kwargs).game
        return game


def game_from_json(text: str) -> Game:
    """Return the game that a game's `to_json` wrote; a `ValueError` says if it is none."""
    entries = json.loads(text)
    for kind in Game.__subclasses__():
        with suppress(TypeError):  # it has other fields
            return kind(**entries)
    raise UsageError(f"expected a game as its to_json() wrote it, got {brief(text)}.")


class Entry(NamedTuple):
    """An agent that has a name."""

    path: str  # its class, `module:Class`
    env: str = "Tiles2048-v0"  # if none is named
    learns: bool = False  # before it plays


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
STRONG = "strong"  # the name of the trained networks that come with the package
STRONG_FOLDER = Path(__file__).with_name(STRONG)
"""The exports of runs with the preset of this name, in folders called as their games."""
NAMES = (*AGENTS, STRONG)
LEARNERS = [name for name, entry in AGENTS.items() if entry.learns]


def agent_class(name: str) -> type[Any]:
    """Return the class of an agent: one of `AGENTS`, or `module:Class` as a person types it."""
    module, _, qualified = (AGENTS[name].path if name in AGENTS else name).partition(":")
    if not qualified.replace(".", "_").isidentifier():  # of a path of Windows, too
        others = "a trained run's folder (there is none of this name), or a class of your own"
        expected = f"{', '.join(NAMES)}, {others}, my_module:MyAgent"
        raise UsageError(f"there is no agent {name!r}: expected {expected}.")
    with extra("baselines"):
        (import_module if name in AGENTS else import_named)(module)
    agent = getattr(sys.modules[module], qualified, None)
    if not isinstance(agent, type) or not is_agent(agent):
        raise UsageError(f"{name} is no agent: expected a class with predict(observation).")
    return agent


def usual_env(name: str) -> str:
    """Return the environment that an agent plays if none is named."""
    return AGENTS.get(name, Entry("")).env
