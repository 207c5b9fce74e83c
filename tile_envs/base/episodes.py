"""Episodes of many games at once: ends, limits and resets, around the steps of a game.

A game's step is a function (see `tile_envs.game.Game`); what an environment adds to it is here, by
numpy, and in `compiled_episodes`.  Both are an `Executor`: they take the same arrays by the same
names, and give the same bits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import checked_actions
from tile_envs.base.random_stream import Words
from tile_envs.game import Bools, Floats, Game, Info, Ints, Observations, Positions

NUMPY, NUMBA, AUTO = "numpy", "numba", "auto"
NO_LIMIT = np.iinfo(np.int64).max
_ONE = np.array(1)  # 0-d: see `random_stream`

Indices = NDArray[np.intp] | slice


class Episodes(NamedTuple):
    """What is counted of many games, besides their state.

    Attributes:
        steps: `(n,) int64`, the steps of the episode; 0 if there is no limit.
        illegal_run: `(n,) int64`, the illegal actions in a row.
        illegal: `(n,) bool`, whether the last action was illegal.
        begun: `(n,) uint64`, where the random stream stood when the game began.
    """

    steps: Ints
    illegal_run: Ints
    illegal: Bools
    begun: Words


class Limits(NamedTuple):
    """How many illegal actions in a row, and how many steps, truncate an episode."""

    max_illegal: int
    max_steps: int = NO_LIMIT


class Games(NamedTuple):
    """Many games and their episodes; an executor may change the arrays in place.

    `arrays` are those of an executor that does, as its loops take them; see `compiled_episodes`.
    """

    state: Any
    episodes: Episodes
    arrays: tuple[Any, ...] = ()


class Final(NamedTuple):
    """How the games `(k,)` ended that were reset in the same step: their last `(k, ...)`."""

    games: NDArray[np.intp]
    observations: Observations
    infos: Info


class Outcome(NamedTuple):
    """What a step brings: fresh arrays `(num_envs, ...)`, and of games that it reset, the end."""

    observations: Observations
    rewards: Floats
    terminations: Bools
    truncations: Bools
    infos: Info
    final: Final | None = None


class Executor(NamedTuple):
    """What plays the games of a vector environment.

    Attributes:
        name: `NUMPY` or `NUMBA`.
        advance: Plays one action `(n,)` in every game, and begins those anew that have ended:
            `advance(game, games, limits, actions)` returns the games and the outcome.
        begin_shown: Begins some games anew, and lets an outcome show their first positions:
            `begin_shown(game, games, indices, outcome)`.
        choose: Turns a random word for each game into one of its legal actions, or 0 if it has
            none: `choose(game, state, words)`.
        threads: How many threads share a step.
    """

    name: str
    advance: Callable[[Any, Games, Limits, Any], tuple[Games, Outcome]]
    begin_shown: Callable[[Any, Games, NDArray[np.intp], Outcome], None]
    choose: Callable[[Any, Any, Words], Ints]
    threads: int = 1


def blank(game: Game, n: int) -> Games:
    """Return n games that have not begun: all zeros."""
    kind, forms = game._forms
    state = kind(*(np.zeros((n, *shape), dtype) for dtype, shape in forms))
    counts = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    return Games(state, Episodes(*counts, np.zeros(n, np.uint64)))


def begin(
    game: Game, games: Games, where: Indices, streams: Words, positions: Positions | None = None
) -> Any:
    """Begin some games anew, in place, where random streams are; return their state.

    If an opponent that a user brought fails, nothing has changed.
    """
    starts = streams[where]  # indices copy; a slice goes with positions, which draw nothing
    begun = game._begin_from(starts, positions)
    for array, values in zip(games.state, begun, strict=True):
        array[where] = values
    for array in games.episodes:
        array[where] = 0
    games.episodes.begun[where] = starts
    return begun


def show(game: Game, state: Any, illegal: Bools) -> tuple[Observations, Info]:
    observations, infos = game._observe(state)
    infos["illegal"] = illegal.copy()
    return observations, infos


def advance(game: Game, games: Games, limits: Limits, actions: Any) -> tuple[Games, Outcome]:
    """Play one action in every game; those that have ended begin anew instead."""
    before, episodes, _ = games
    due = before.over
    actions = checked_actions(actions, len(due), game.n_actions)
    state, rewards, illegal = game._play(before, actions)
    illegal_run = episodes.illegal_run + _ONE
    illegal_run *= illegal
    truncations = illegal_run >= limits.max_illegal
    steps = episodes.steps
    if limits.max_steps != NO_LIMIT:
        steps = steps + _ONE
        truncations |= steps >= limits.max_steps
    after = Games(state, Episodes(steps, illegal_run, illegal, episodes.begun))
    if np.count_nonzero(due):  # faster than `any`
        where = np.flatnonzero(due)
        begin(game, after, where, before.streams)
        rewards[where] = truncations[where] = 0
    over = state.over
    terminations = over.copy()
    over |= truncations
    observations, infos = show(game, state, illegal)
    return after, Outcome(observations, rewards, terminations, truncations, infos)


def begin_shown(game: Game, games: Games, where: NDArray[np.intp], outcome: Outcome) -> None:
    """Begin some games anew, and let an outcome show their first positions."""
    begun = begin(game, games, where, games.state.streams)
    observations, infos = show(game, begun, np.zeros(len(where), np.bool_))
    outcome.observations[where] = observations
    for name, values in infos.items():
        outcome.infos[name][where] = values


BY_NUMPY = Executor(NUMPY, advance, begin_shown, lambda game, *given: game._choose(*given))
