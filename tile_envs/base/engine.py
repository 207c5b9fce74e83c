"""Many games at once, by numpy: ends, limits and resets, around the steps of a `Game`.

The engine of compiled code is in `loops`: both take and give the same arrays, with the same bits.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base import sets
from tile_envs.base.checks import checked_actions
from tile_envs.base.random_stream import Words
from tile_envs.game import Bools, Floats, Game, Info, Ints, Observations, Positions

NAMES = NUMPY, NUMBA, AUTO = "numpy", "numba", "auto"
NO_LIMIT = np.iinfo(np.int64).max
_ONE = np.array(1)  # 0-d: see `random_stream`

Indices = NDArray[np.intp] | slice


class Episodes(NamedTuple):
    """What is counted of many games, besides their state."""

    steps: Ints  # `(n,)`, of the episode; 0 if there is no limit
    illegal_run: Ints  # `(n,)`, the illegal actions in a row
    illegal: Bools  # `(n,)`, whether the last action was illegal
    begun: Words  # `(n,)`, where the random stream stood when the game began


class Limits(NamedTuple):
    """How many illegal actions in a row, and how many steps, truncate an episode."""

    max_illegal: int
    max_steps: int = NO_LIMIT


class Games(NamedTuple):
    """Many games, as their state, and their episodes."""

    state: Any
    episodes: Episodes


class Final(NamedTuple):
    """The last observations and infos, `(k, ...)`, of the k games that a step has reset."""

    games: NDArray[np.intp]
    observations: Observations
    infos: Info


class Transition(NamedTuple):
    """One step of n games, in fresh arrays `(n, ...)`; `final` is set where it reset games."""

    observations: Observations
    rewards: Floats
    terminations: Bools
    truncations: Bools
    infos: Info
    final: Final | None = None


class NumpyEngine:
    """Many games, which have not begun at first, and what plays them."""

    name, threads = NUMPY, 1

    def __init__(self, game: Game, n: int, limits: Limits) -> None:
        kind, forms = game._forms
        state = kind(*(np.zeros((n, *shape), dtype) for dtype, shape in forms))
        counts = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
        self.games = Games(state, Episodes(*counts, np.zeros(n, np.uint64)))
        self._game, self._limits = game, limits

    def begin(
        self, games: Games, where: Indices, streams: Words, positions: Positions | None = None
    ) -> Any:
        """Begin some games anew, in place, where random streams `(n,)` are; return their state."""
        first = streams[where]  # indices copy; a slice goes with positions, which draw nothing
        begun = self._game._begin_from(first, positions)  # it fails before anything has changed
        for array, values in zip(games.state, begun, strict=True):
            array[where] = values
        for array in games.episodes:
            array[where] = 0
        games.episodes.begun[where] = first
        return begun

    def show(self, games: Games) -> tuple[Observations, Info]:
        observations, infos = self._game._observe(games.state)
        infos["illegal"] = games.episodes.illegal.copy()
        return observations, infos

    def choose(self, words: Words) -> Ints:
        """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
        return sets.pick(self.games.state.legal, words)

    def play(self, actions: Any) -> tuple[Games, Transition]:
        """Play one action `(n,)` in every game; those that were over begin anew instead.

        Returns the games afterwards, which become `games` if the caller keeps them, so nothing has
        changed if a user's opponent or placer fails.
        """
        before, episodes = self.games
        due = before.over
        actions = checked_actions(actions, len(due), self._game.n_actions)
        if begins := np.count_nonzero(due):  # faster than `any`; nobody is asked for these games
            before = before._replace(legal=before.legal * ~due)
        state, rewards, illegal = self._game._play(before, actions)
        illegal_run = episodes.illegal_run + _ONE
        illegal_run *= illegal
        truncations = illegal_run >= self._limits.max_illegal
        steps = episodes.steps
        if self._limits.max_steps != NO_LIMIT:
            steps = steps + _ONE
            truncations |= steps >= self._limits.max_steps
        after = Games(state, Episodes(steps, illegal_run, illegal, episodes.begun))
        if begins:
            where = np.flatnonzero(due)
            self.begin(after, where, before.streams)
            rewards[where] = truncations[where] = 0
        over = state.over
        terminations = over.copy()
        over |= truncations
        observations, infos = self.show(after)
        return after, Transition(observations, rewards, terminations, truncations, infos)

    def begin_shown(self, games: Games, where: NDArray[np.intp], transition: Transition) -> None:
        """Begin some games anew, and let a transition show their first positions."""
        begun = self.begin(games, where, games.state.streams)
        transition.observations[where], infos = self._game._observe(begun)
        transition.infos["illegal"][where] = False
        for name, values in infos.items():
            transition.infos[name][where] = values
