"""Whole games, played side by side and then learned from: episodes, exploration, replay."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from baselines.agents import ValueAgent
from baselines.seeds import training_generator, training_seeds
from baselines.settings import check_batch
from baselines.training.learner import Learner, Metrics, State
from baselines.training.learner import Sides as Sides
from tile_envs.base.engine import AUTO
from tile_envs.base.random_stream import Words
from tile_envs.game import Bools, Floats, Game, Ints, Observations
from tile_envs.games import vector_env

COUNTERS = ("iterations", "games", "moves")


@dataclass(frozen=True, eq=False)
class Episodes:
    """What n games went through in T steps, each up to its end.

    Attributes:
        observations: `(T, n, ...)`, the observation before each action.
        actions: `(T, n) int64`.
        rewards: `(T, n) float64`, the reward of each action.
        playing: `(T, n) bool`, whether the game was still on.
    """

    observations: Observations
    actions: Ints
    rewards: Floats
    playing: Bools

    @property
    def returns(self) -> Floats:
        return np.asarray((self.rewards * self.playing).sum(axis=0))

    @property
    def continues(self) -> Bools:
        """Whether the game was still on after each action, `(T, n)`."""
        return np.append(self.playing[1:], np.zeros_like(self.playing[:1]), axis=0)


def collect(envs: Any, seeds: Words, choose: Callable[[Observations, Bools], Ints]) -> Episodes:
    """Play a game of each seed `(num_envs,)` to its end, in environments of `training_envs`.

    `choose` gets observations `(n, ...)` and masks `(n, actions)`, and returns actions `(n,)`.
    """
    observations, infos = envs.reset(seed=seeds)
    playing = np.ones(envs.num_envs, np.bool_)
    steps = list[tuple[Any, ...]]()
    while playing.any():
        actions = choose(observations, infos["action_mask"].astype(np.bool_))
        following, rewards, terminations, truncations, infos = envs.step(actions)
        steps.append((observations, actions, rewards, playing))
        playing, observations = playing & ~(terminations | truncations), following
    return Episodes(*map(np.array, zip(*steps, strict=True)))


def training_envs(
    game: Any, sides: Sides, opponent: str, n_envs: int, autoreset_mode: str = "NextStep"
) -> list[Any]:
    """Return vector environments, one for each side to learn; with "self", one for both."""
    check_batch(n_envs, "n_envs", 1000)  # bytes of a game at least, with a few observations
    options = [{"side": side, "opponent": opponent} for side in sides]
    if sides and opponent == "self":
        options = [{"side": "both"}]
    games = [replace(game, **changes) for changes in options] or [game]
    return [vector_env(g, n_envs, autoreset_mode=autoreset_mode, engine=AUTO) for g in games]


class EpisodicLearner(ValueAgent, Learner):
    """The base of learners that play games side by side to the end, and then learn from them.

    A subclass has `action_values` and `update`; it may have `explore`.  Its `Settings` may have
    `n_envs`, the games played side by side (1); in a game with sides `opponent`, a named one
    ("random"), or "self" for self-play; and those of `epsilon`.  See also `Learner`.

    Attributes:
        self_play: Whether every other observation is the other player's.
    """

    games = moves = 0
    saved: ClassVar[tuple[str, ...]] = ("weights",)
    """The attributes, all arrays, that a checkpoint holds besides its counters."""

    def __init__(self, game: Game, seed: int = 0, settings: Any = None, sides: Sides = ()) -> None:
        super().__init__(game, seed, settings, sides)
        self._n_envs = getattr(self._settings, "n_envs", 1)
        opponent = getattr(self._settings, "opponent", "random")
        self.self_play = bool(self._sides) and opponent == "self"
        self._envs = training_envs(game, self._sides, opponent, self._n_envs)

    @property
    def epsilon(self) -> float:
        """The settings' `epsilon`, if any, less `epsilon_decrease` every `epsilon_every` games."""
        s = self._settings
        steps = self.games // getattr(s, "epsilon_every", 1)
        return max(0.0, getattr(s, "epsilon", 0.0) - getattr(s, "epsilon_decrease", 0.0) * steps)

    def explore(self, observations: Observations, masks: Bools, rng: np.random.Generator) -> Ints:
        """Return ε-greedy actions `(n,)` of observations `(n, ...)` with masks `(n, n_actions)`."""
        best = self.action_values(observations).argmax(axis=1)
        drawn = (rng.random(masks.shape) * masks).argmax(axis=1)
        return np.asarray(np.where(rng.random(len(masks)) < self.epsilon, drawn, best))

    def learn(self) -> Metrics:
        returns, moves = [], 0
        for number, envs in enumerate(self._envs):
            rng = training_generator(self._seed, self.iterations, number)
            explore = partial(self.explore, rng=rng)
            episodes = collect(envs, training_seeds(rng, self._n_envs), explore)
            self.update(episodes)
            returns.append(episodes.returns)
            moves += int(episodes.playing.sum())
        return self._count(self._n_envs, moves, np.transpose(returns).ravel())

    def learn_from(self, episodes: Episodes) -> None:
        """Learn from games that were played elsewhere; they count as an iteration."""
        self.update(episodes)
        self._count(episodes.playing.shape[1], int(episodes.playing.sum()), episodes.returns)

    def _count(self, games: int, moves: int, returns: Floats) -> Metrics:
        self.iterations += 1
        self.games += games
        self.moves += moves
        return {"return": self.mean_return(returns), "moves": float(self.moves)}

    @abstractmethod
    def update(self, episodes: Episodes) -> None:
        """Learn from whole games."""

    def _arrays(self) -> State:
        return {name: getattr(self, name) for name in self.saved}

    def state_dict(self) -> State:
        """Return copies of the arrays that are `saved`, and what is counted."""
        state = self._arrays() | {name: getattr(self, name) for name in COUNTERS}
        return {n: np.array(a) for n, a in (state | {"recent returns": self.recent}).items()}

    def load_state_dict(self, state: State) -> None:
        for name, array in self._arrays().items():
            array[...] = state[name]
        self.iterations, self.games, self.moves = (int(state[name]) for name in COUNTERS)
        self.recent = state["recent returns"].copy()
