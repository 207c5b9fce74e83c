"""What plays the games of a vector environment: their states as arrays, and steps over all of them.

`NumpyEngine` holds the states, and steps all games at once with numpy; its subclasses add the rules
of a game.  A compiled engine holds a numpy engine, and steps its games one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import checked_actions
from tile_envs.base.random_stream import Words
from tile_envs.game import Game, Positions

Games = NDArray[np.intp] | slice
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Observations = NDArray[Any]
Info = dict[str, NDArray[Any]]

EVERY_GAME = slice(None)
GAMES_PER_THREAD = 2048
"""Threads with fewer games cost more than they bring: to wake one takes as long as 1,000 games."""
NUMPY, NUMBA, AUTO = "numpy", "numba", "auto"
_ONE = np.array(1)  # 0-d: see `random_stream`


class Final(NamedTuple):
    """How the games `(k,)` ended that were reset in the same step: their last `(k, ...)`."""

    games: NDArray[np.intp]
    observations: Observations
    infos: Info


class Outcome(NamedTuple):
    """What a step brings; the arrays are fresh, and hold all games, `(num_envs, ...)`.

    `final` is of the games that were reset in the same step, if there are any.
    """

    observations: Observations
    rewards: Floats
    terminations: Bools
    truncations: Bools
    infos: Info
    final: Final | None = None


class Engine(ABC):
    """What steps the games of a vector environment."""

    name: str  # `NUMPY` or `NUMBA`
    threads = 1  # how many share a step

    @abstractmethod
    def play(self, actions: Any) -> Outcome:
        """Play one action in every game; those that have ended begin anew instead."""

    @abstractmethod
    def begin_shown(self, games: NDArray[np.intp], outcome: Outcome) -> None:
        """Begin new games, and let an outcome show their first positions."""

    @abstractmethod
    def choose_legal(self, words: Words) -> Ints:
        """Turn a random word for each game into one of its legal actions, or 0 if it has none."""


class NumpyEngine(Engine):
    """The states of many games, and steps over all of them.

    `max_illegal` consecutive illegal actions truncate an episode, or `max_steps` steps if not None.
    """

    name = NUMPY

    def __init__(self, game: Game, num_envs: int, max_illegal: int, max_steps: int | None) -> None:
        self.game, self.num_envs = game, num_envs
        self.max_illegal, self.max_steps = max_illegal, max_steps
        self._max_illegal = np.array(max_illegal)
        self.started = False  # nor are there games to play after a start that has failed
        self.streams = np.zeros(num_envs, np.uint64)  # the positions of the random streams
        self.steps = np.zeros(num_envs, np.int64)  # 0 if there is no limit
        self.illegal_run = np.zeros(num_envs, np.int64)  # the illegal actions in a row
        self.illegal = np.zeros(num_envs, np.bool_)  # whether the last action was
        self.ended = np.zeros(num_envs, np.bool_)

    # What a game adds; `games` are indices, or the slice of all.

    @abstractmethod
    def _play(self, actions: Ints, frozen: Bools | None) -> tuple[Floats, Bools, Bools]:
        """Play one action in every game: rewards, which are over, which actions were legal.

        The games that are frozen, `(num_envs,)`, are about to be reset: their random streams must
        rest; whatever else happens to them is forgotten.
        """

    @abstractmethod
    def _start(self, games: Games, positions: Positions | None) -> None:
        """Take games to given positions, or to some drawn from their streams."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Return the positions of all games as `Game.checked_positions` reads them."""

    @abstractmethod
    def observations(self, games: Games) -> Observations:
        """Return fresh observations."""

    @abstractmethod
    def masks(self, games: Games) -> NDArray[np.int8]:
        """Return fresh action masks."""

    @abstractmethod
    def _info(self, games: Games) -> Info:
        """Return fresh infos, all but `action_mask` and `illegal`."""

    # What games have in common.

    def play(self, actions: Any) -> Outcome:
        """Play one action in every game; those that have ended begin anew instead."""
        actions = checked_actions(actions, self.num_envs, self.game.n_actions)
        due = self.ended  # the games that this step resets
        some_due = np.count_nonzero(due) > 0  # faster than `any`
        rewards, terminations, legal = self._play(actions, due if some_due else None)
        self.illegal = ~legal
        self.illegal_run += _ONE
        self.illegal_run *= self.illegal
        truncations = self.illegal_run >= self._max_illegal
        if self.max_steps is not None:
            self.steps += _ONE
            truncations |= self.steps >= self.max_steps
        ends = rewards, terminations, truncations
        if some_due:
            games = np.flatnonzero(due)
            self.begin(games)
            for values in ends:
                values[games] = 0
        self.ended = terminations | truncations
        return Outcome(self.observations(EVERY_GAME), *ends, self.infos(EVERY_GAME))

    def begin_shown(self, games: NDArray[np.intp], outcome: Outcome) -> None:
        """Begin new games, and let an outcome show their first positions."""
        self.begin(games)
        outcome.observations[games] = self.observations(games)
        for name, values in self.infos(games).items():
            outcome.infos[name][games] = values

    def begin(self, games: Games, positions: Positions | None = None) -> None:
        """Begin new games, at given positions or at some drawn from their streams.

        An opponent that a user brought can fail here; then everything needs a start.
        """
        self.started = False
        self.steps[games] = self.illegal_run[games] = 0
        self.illegal[games] = self.ended[games] = False
        self._start(games, positions)
        self.started = True

    def infos(self, games: Games) -> Info:
        """Return fresh infos."""
        infos = {"action_mask": self.masks(games), **self._info(games)}
        infos["illegal"] = self.illegal[games].copy()
        return infos
