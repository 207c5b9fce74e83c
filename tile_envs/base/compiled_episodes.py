"""Episodes of many games, played by compiled loops, one game after the other.

A loop takes numpy arrays one by one: numba takes twice as long to unpack those in a tuple.  In it
they are put together again, as a `World`, under the names that they have outside.

A loop's body must not leave a step early: where it does, numba counts references to all arrays,
once for each game, which takes longer than the game's whole step.
"""

from collections import namedtuple
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base import episodes
from tile_envs.base.checks import checked_actions, shaped_actions
from tile_envs.base.compiled import Word, announced, compiled
from tile_envs.base.episodes import NO_LIMIT, NUMBA, Episodes, Executor, Games, Limits, Outcome
from tile_envs.base.random_stream import Words
from tile_envs.base.tables import for_loops
from tile_envs.base.threads import play_shared
from tile_envs.game import Game, Ints

Arrays = tuple[Any, ...]

_BOOL = np.dtype(np.bool_)  # numpy looks up the dtype of a type each time

World = Any
"""All that the loops of a game read and write; see `world_of`."""


def world_of(module: str, shown: str, state: Any, lookup: str) -> Any:
    """Return a named tuple of the arrays that loops take, in their order.

    These are `rewards`, `terminations` and `truncations`, what else is `shown` of games, then the
    fields of `Episodes`, `Limits` and the game's state, then what is looked up.
    """
    counted = *Episodes._fields, *Limits._fields, *state._fields
    names = "rewards", "terminations", "truncations", *shown.split(), *counted, *lookup.split()
    return namedtuple("World", names, module=module)


class Code(NamedTuple):
    """The compiled loops of a game.

    Attributes:
        play: Plays a step of some games in a row: `play(first, end, actions, *arrays)`, with the
            actions of all games.  Returns whether those of its games were inside the action space;
            if not, nothing has changed.
        begin: Begins some games anew and shows them: `begin(games, *arrays)`.
        choose: Chooses legal actions: `choose(words, array)`.
        legal: The name of the array of a state that `choose` takes.
        shown: Returns the arrays of an outcome as loops take them, without `rewards`,
            `terminations` and `truncations`.
        state: Returns those of a state.
        tables: The game's tables.
        forms: The shapes and dtypes of an outcome's arrays, those of infos by name.
    """

    play: Any
    begin: Any
    choose: Any
    legal: str
    shown: Callable[[Outcome], Arrays]
    state: Callable[[Any], Arrays]
    tables: Arrays
    forms: Any = None


def executor(game: Game, code: Code, games: Games, threads: int) -> Executor:
    """Return what plays games by these loops, which are compiled now, unless they are kept."""
    observations, infos = episodes.show(game, games.state, games.episodes.illegal)
    n, forms = len(observations), {name: (a.shape, a.dtype) for name, a in infos.items()}
    code = code._replace(
        tables=tuple(map(for_loops, code.tables)),
        forms=((observations.shape, observations.dtype), n, forms),
    )
    none = np.empty(0, np.int64)
    arrays = _with_arrays(code, games, Limits(1)).arrays
    arguments = none, *_shown(code, _empty_outcome(code)), *arrays
    with announced(str(game)):
        code.play(0, 0, *arguments)
        code.begin(*arguments)
        choose(code, game, games.state, none.view(np.uint64))
    played = partial(advance, code, threads), partial(begin_shown, code), partial(choose, code)
    return Executor(NUMBA, *played, threads)


def advance(
    code: Code, threads: int, game: Game, games: Games, limits: Limits, actions: Any
) -> tuple[Games, Outcome]:
    """Play one action in every game, in place; those that have ended begin anew instead."""
    n, shared = len(games.state.over), threads > 1
    outcome = _empty_outcome(code)
    chosen = checked_actions(actions, n, game.n_actions) if shared else shaped_actions(actions, n)
    games = games if games.arrays else _with_arrays(code, games, limits)
    arguments = chosen, *_shown(code, outcome), *games.arrays
    if shared:
        play_shared(code.play, n, threads, arguments)
    elif not code.play(0, n, *arguments):
        checked_actions(actions, n, game.n_actions)  # says which one it is
    return games, outcome


def begin_shown(
    code: Code, game: Game, games: Games, where: NDArray[np.intp], outcome: Outcome
) -> None:
    code.begin(where, *_shown(code, outcome), *games.arrays)


def choose(code: Code, game: Game, state: Any, words: Words) -> Ints:
    actions: Ints = code.choose(words, getattr(state, code.legal))
    return actions


def _with_arrays(code: Code, games: Games, limits: Limits) -> Games:
    looked = *games.episodes, *limits, *code.state(games.state), *code.tables
    return games._replace(arrays=looked)


def _shown(code: Code, outcome: Outcome) -> Arrays:
    return *outcome[1:4], *code.shown(outcome)


def _empty_outcome(code: Code) -> Outcome:
    (observations, n, infos), empty = code.forms, np.empty
    ends = empty(n), empty(n, _BOOL), empty(n, _BOOL)
    return Outcome(empty(*observations), *ends, {name: empty(*f) for name, f in infos.items()})


@compiled
def all_inside(first: int, end: int, actions: Ints, n_actions: int) -> bool:
    """Tell whether the actions of some games in a row are inside the action space."""
    inside = True
    for i in range(Word(first), Word(end)):
        inside &= 0 <= actions[i] < n_actions
    return inside


@compiled
def clear(world: World, i: int) -> None:
    """Count anew in a game that begins, where its stream is now."""
    world.begun[i] = world.streams[i]
    world.steps[i] = world.illegal_run[i] = 0
    world.illegal[i] = world.over[i] = False


@compiled
def begun(world: World, i: int) -> None:
    """Show a game that has begun instead of a step."""
    world.rewards[i], world.terminations[i], world.truncations[i] = 0.0, False, False


@compiled
def finish(world: World, i: int, reward: float, legal: bool, over: bool) -> None:
    """Count a step of a game, and tell whether it has ended."""
    run = 0 if legal else world.illegal_run[i] + 1
    world.illegal[i] = not legal
    world.illegal_run[i] = run
    world.steps[i] += world.max_steps < NO_LIMIT
    cut = run >= world.max_illegal or world.steps[i] >= world.max_steps
    world.over[i] = over or cut
    world.rewards[i], world.terminations[i], world.truncations[i] = reward, over, cut
