"""Learning in rounds, each of a batch of games.

A round draws all its random numbers from the seed and its own number, so that a learner needs no
generator in its checkpoint, and a run that was interrupted ends where an uninterrupted one ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from baselines.agent import Observations, ValueAgent
from baselines.checks import check
from baselines.episodes import Episodes, collect
from tile_envs.tictactoe.env import TicTacToeEnv

State = dict[str, NDArray[Any]]

SIDES = ("X", "O")
SELF = "self"
TEST_SEED = 1 << 32
"""Where the seeds of test games begin: none of those that a judge is usually given."""


class Learner(ABC):
    """An agent that learns by itself, round by round; it plays by `tile_envs.agents.Agent`.

    Attributes:
        rounds: How many rounds it has learned.
    """

    rounds: int
    test_games = 1000
    """So many games a test has."""
    first_test = 1000
    """Tests come after 1, 2, 5, 10, 20, 50 … times so many games."""

    @property
    @abstractmethod
    def games(self) -> int:
        """How many games each side has played."""

    @abstractmethod
    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Return an action for each observation `(n, ...)`, and `state`."""

    def prepare(self) -> None:
        """Get ready for the first round, if there is something to it that can fail."""
        return None

    @abstractmethod
    def learn(self) -> dict[str, float]:
        """Play and learn from one round of games for each side.

        Returns:
            Figures of these games.
        """

    def test(self, games: int) -> dict[str, float]:
        """Play without learning or exploring, if that tells more than `learn`; return figures."""
        return {}

    def save_model(self, path: Path) -> None:
        """Write what has been learned as a library's own model, if it is one of a library."""
        return None

    def load_model(self, path: Path) -> None:
        """Play from now on with what `save_model` wrote.

        Raises:
            ValueError: If it is no model of such a learner.
        """
        raise ValueError(f"{path} is no model of this agent: give the folder of its run.")

    @abstractmethod
    def state(self) -> State:
        """Return all that has been learned, and the number of rounds.

        The arrays may be those that the learner goes on changing.
        """

    @abstractmethod
    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a state that fits."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what another learner knew.

        Raises:
            ValueError: If it was one of another game, shape or kind.
        """
        mine = self.state()
        if state.keys() != mine.keys():
            raise ValueError(f"the checkpoint holds {sorted(state)}, expected {sorted(mine)}.")
        for name, array in mine.items():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise ValueError(
                    f"the checkpoint's {name!r} is {state[name].dtype} of shape "
                    f"{state[name].shape}, expected {array.dtype} of shape {array.shape}: "
                    "is it one of another game?"
                )
        self._take_over(state)


class BatchLearner(ValueAgent, Learner):
    """The base of those that play a batch of games to the end, and then learn from it.

    Args:
        env: The game; in tic-tac-toe its own side and opponent do not matter.
        sides: What is learned in tic-tac-toe, of "X" and "O"; nothing in a sliding game.
        opponent: Who is played against in tic-tac-toe: a named opponent, or "self".
        batch: Games played side by side.
        seed: Starts games and exploration.

    Attributes:
        self_play: Whether every other observation is the other player's.

    Raises:
        ValueError: If the batch is not positive, or there is no such opponent.
    """

    def __init__(
        self, env: gym.Env[Any, Any], sides: tuple[str, ...], opponent: str, batch: int, seed: int
    ) -> None:
        check("batch", batch, batch >= 1, "at least 1")
        self._game: Any = env.unwrapped
        self._seed, self._batch = seed, batch
        self.self_play = bool(sides) and opponent == SELF
        self._envs = training_envs(env, sides, opponent, batch)
        self.rounds = 0

    @property
    def games(self) -> int:
        """How many games each side has played."""
        return self.rounds * self._batch

    def learn(self) -> dict[str, float]:
        """Play and learn from one batch of games for each side.

        Returns:
            The mean return of the games, which exploration lowers.
        """
        returns = []
        for number, envs in enumerate(self._envs):
            rng = np.random.default_rng([self._seed, self.rounds, number])
            seeds = rng.integers(1 << 64, size=self._batch, dtype=np.uint64)
            episodes = collect(envs, seeds, partial(self._explore, rng=rng))
            self._update(episodes)
            returns.append(episodes.returns.mean())
        self.rounds += 1
        return {"return": float(np.mean(returns))}

    def learn_from(self, episodes: Episodes) -> None:
        """Learn from games that were played elsewhere; they count as a round."""
        self._update(episodes)
        self.rounds += 1

    @abstractmethod
    def _explore(
        self, observations: Observations, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the actions of a game that is learned from."""

    @abstractmethod
    def _update(self, episodes: Episodes) -> None:
        """Learn from a batch of games."""


def epsilon_greedy(
    values: NDArray[np.float64],
    masks: NDArray[np.bool_],
    epsilon: float | NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the best action, or with probability epsilon, drawn for each game, any legal one."""
    drawn = (rng.random(masks.shape) * masks).argmax(axis=1)
    actions: NDArray[np.int64] = np.where(
        rng.random(len(masks)) < epsilon, drawn, values.argmax(axis=1)
    )
    return actions


def falling(epsilon: float, step: float, games_a_step: int, games: int) -> float:
    """Return epsilon after so many games, when it falls by a step every so many."""
    return max(0.0, epsilon - step * (games // games_a_step))


def move_towards(
    entries: NDArray[np.float64],
    visits: NDArray[np.int64],
    visited: NDArray[np.int64],
    targets: NDArray[np.float64],
    rate: float,
    decay: float,
) -> None:
    """Move visited entries of a table towards targets, in place.

    The step size is `rate / visits ** decay`.  Several targets for one entry move it as their mean
    would, one after the other.

    Args:
        entries: `(size,)`, the table.
        visits: `(size,)`, how often each entry has been visited; counted on.
        visited: `(n,)`, indices into the table.
        targets: `(n,)`.
        rate: The step size of the first visit.
        decay: How fast it falls.
    """
    indices, which, times = np.unique(visited, return_inverse=True, return_counts=True)
    means = np.bincount(which, targets) / times
    visits[indices] += times
    rates = rate / visits[indices] ** decay
    entries[indices] += (1 - (1 - rates) ** times) * (means - entries[indices])


def training_envs(
    env: gym.Env[Any, Any],
    sides: tuple[str, ...],
    opponent: str,
    batch: int,
    autoreset_mode: str = AutoresetMode.NEXT_STEP.value,
) -> list[Any]:
    """Return the vector environments that are learned in, one for each side."""
    assert env.spec is not None
    options = {name: value for name, value in env.spec.kwargs.items() if name != "render_mode"}
    variants: list[dict[str, Any]] = [{}]
    if isinstance(env.unwrapped, TicTacToeEnv):
        variants = [{"side": side, "opponent": opponent} for side in sides]
        if opponent == SELF:
            variants = [{"side": "both"}]
    options["autoreset_mode"] = autoreset_mode
    return [gym.make_vec(env.spec.id, batch, **options | variant) for variant in variants]
