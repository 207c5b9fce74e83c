"""Many games by compiled loops, one game after the other.

Arrays are separate arguments of a loop, as numba unpacks a tuple half as fast; the loop regroups
them by name in a named tuple, the game's `World`.

Kernels return only at their end: an early return makes numba count references to every array, once
a game, which takes longer than the game's whole step.
"""

from collections import namedtuple
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tile_envs.base import engine
from tile_envs.base.checks import checked_actions, shaped_actions
from tile_envs.base.compiled import HALF, ONE, Word, announced, compiled, compiled_loop
from tile_envs.base.engine import NO_LIMIT, NUMBA, Games, Limits, NumpyEngine, Transition
from tile_envs.base.random_stream import Words
from tile_envs.base.sets import KTH, MOST, SIZE
from tile_envs.base.tables import for_loops
from tile_envs.base.threads import play_shared
from tile_envs.game import Game, Ints

_BOOL, _LONG = np.dtype(np.bool_), np.dtype(np.int64)  # looked up once
_ROW = Word(MOST)
MEMBERS = for_loops(KTH)

World = Any  # all that the loops of a game read and write; see `world_of`


class Loops(NamedTuple):
    """The compiled loops of a game, and how its arrays are handed to them.

    `play(first, end, actions, *arrays)` plays a step of some games in a row, with the actions of
    all games, and returns whether those of its games were inside the action space; if not, nothing
    has changed.  `begin(games, *arrays)` begins some games anew and shows them.
    """

    play: Any
    begin: Any
    shown: Callable[[Transition], tuple[Any, ...]]  # the arrays of observations and infos
    state: Callable[[Any], tuple[Any, ...]]  # those of a state
    tables: tuple[Any, ...]  # what is looked up


def world_of(module: str, shown: str, state: Any, tables: str) -> Any:
    """Return a named tuple of the arrays that loops take, in their order."""
    counted = *engine.Episodes._fields, *Limits._fields, *state._fields
    names = "rewards", "terminations", "truncations", *shown.split(), *counted, *tables.split()
    return namedtuple("World", names, module=module)


def loops(world: Any, n_actions: int, begin: Any, play: Any, show: Any) -> tuple[Any, Any]:
    """Return `play` and `begin` of `Loops`, made of three kernels, which take `(world, i)`.

    `begin` begins game i, whose stream is at `world.streams[i]`; `play(world, i, action)` plays a
    legal action and returns the reward; `show` shows the game.
    """

    def play_all(first: int, end: int, actions: Ints, *arrays: Any) -> bool:
        games, inside = world(*arrays), True
        for i in range(Word(first), Word(end)):
            inside &= 0 <= actions[i] < n_actions
        if not inside:
            return False
        for i in range(Word(first), Word(end)):
            if games.over[i]:
                _clear(games, i)
                begin(games, i)
                games.rewards[i], games.terminations[i], games.truncations[i] = 0.0, False, False
            else:
                action, reward = Word(actions[i]), 0.0
                legal = bool(Word(games.legal[i]) >> action & ONE)
                if legal:
                    reward = play(games, i, action)
                _finish(games, i, reward, legal)
            show(games, i)
        return True

    def begin_all(which: Ints, *arrays: Any) -> None:
        games = world(*arrays)
        for i in which:
            _clear(games, i)
            begin(games, i)
            show(games, i)

    return compiled_loop(play_all, world.__module__), compiled_loop(begin_all, world.__module__)


@compiled
def _clear(world: World, i: int) -> None:
    """Count anew in a game that begins, where its stream is now."""
    world.begun[i] = world.streams[i]
    world.steps[i] = world.illegal_run[i] = 0
    world.illegal[i] = world.over[i] = False


@compiled
def _finish(world: World, i: int, reward: float, legal: bool) -> None:
    """Count a step of a game, and tell whether it has ended."""
    over, run = world.legal[i] == 0, 0 if legal else world.illegal_run[i] + 1
    world.illegal[i] = not legal
    world.illegal_run[i] = run
    world.steps[i] += world.max_steps < NO_LIMIT
    cut = run >= world.max_illegal or world.steps[i] >= world.max_steps
    world.over[i] = over or cut
    world.rewards[i], world.terminations[i], world.truncations[i] = reward, over, cut


@compiled_loop
def _choose(words: Words, legal: Ints, kth: Ints) -> Ints:
    actions = np.empty(len(words), np.int64)
    for i in range(len(words)):
        actions[i] = one_of(Word(legal[i]), words[i], kth)
    return actions


@compiled
def one_of(members: Word, word: Word, kth: Ints) -> int:
    """Return a member of a set by a random word, 0 if it is empty; see `tile_envs.base.sets`."""
    # The large table is an argument: numba compiles constants, here 4,608, into each loop.
    chosen: int = kth[members * _ROW + ((word >> HALF) * SIZE[members] >> HALF)]
    return chosen


class CompiledEngine(NumpyEngine):
    """Many games that compiled loops play, in place; the loops are compiled now, if not kept."""

    name = NUMBA

    def __init__(self, game: Game, n: int, limits: Limits, threads: int) -> None:
        super().__init__(game, n, limits)
        self.loops: Loops = import_module(cast(str, game.loops)).loops_of(game)
        self._n, self.threads, loops = n, threads, self.loops
        observations, infos = self.show(self.games)
        self._observations = observations.shape, observations.dtype
        self._infos = {name: (array.shape, array.dtype) for name, array in infos.items()}
        state, episodes = self.games
        tables = map(for_loops, loops.tables)
        self._arrays = *episodes, *limits, *loops.state(state), *tables
        none = np.empty(0, np.int64)
        arrays = *self._shown(self._empty()), *self._arrays
        with announced(str(game)):
            loops.play(0, 0, none, *arrays)
            loops.begin(none, *arrays)
            _choose(none.view(np.uint64), none, MEMBERS)

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled code is not pickled, nor are its arrays, views of those of the games.
        made = self._game, self._n, self._limits, self.threads
        return CompiledEngine, made, self.games

    def __setstate__(self, games: Games) -> None:
        for ours, theirs in zip(self.games, games, strict=True):
            for array, values in zip(ours, theirs, strict=True):
                array[...] = values

    def choose(self, words: Words) -> Ints:
        actions: Ints = _choose(words, self.games.state.legal, MEMBERS)
        return actions

    def play(self, actions: Any) -> tuple[Games, Transition]:
        n, play, transition = self._n, self.loops.play, self._empty()
        is_usual = type(actions) is np.ndarray and actions.shape == (n,) and actions.dtype is _LONG
        is_usual = is_usual and actions.flags.carray
        chosen = actions if is_usual else shaped_actions(actions, n)
        arrays = *self._shown(transition), *self._arrays
        if self.threads > 1:
            checked_actions(actions, n, self._game.n_actions)
            play_shared(play, n, self.threads, (chosen, *arrays))
        elif not play(0, n, chosen, *arrays):
            checked_actions(actions, n, self._game.n_actions)  # says which one it is
        return self.games, transition

    def begin_shown(self, games: Games, where: NDArray[np.intp], transition: Transition) -> None:
        self.loops.begin(where, *self._shown(transition), *self._arrays)

    def _shown(self, transition: Transition) -> tuple[Any, ...]:
        return *transition[1:4], *self.loops.shown(transition)

    def _empty(self) -> Transition:
        """Return a transition of arrays that the loops fill."""
        n, empty = self._n, np.empty
        ends = empty(n), empty(n, _BOOL), empty(n, _BOOL)
        infos = {name: empty(*form) for name, form in self._infos.items()}
        return Transition(empty(*self._observations), *ends, infos)
