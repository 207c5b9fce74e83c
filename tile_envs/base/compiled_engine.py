"""What engines of compiled code share: how they are called, and what all games count.

An engine hands its loops numpy arrays one by one: numba takes twice as long to unpack those in a
tuple.  In the loops they are put together again, as the game's `World`, so that each has a name.

A loop's body must not leave a step early: where it does, numba counts references to all arrays,
once for each game, which takes longer than the game's whole step.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import checked_actions, shaped_actions
from tile_envs.base.compiled import Word, announced, compiled
from tile_envs.base.engine import EVERY_GAME, NUMBA, Engine, Ints, NumpyEngine, Outcome
from tile_envs.base.threads import play_shared

World = Any
"""A named tuple of a game's own: first `rewards`, `terminations` and `truncations` of an `Outcome`,
then what `CompiledEngine._shown` returns, then `streams`, `steps`, `illegal_run`, `illegal` and
`ended` of a `NumpyEngine`, `max_illegal` and `max_steps`, then what `CompiledEngine._fixed` does.
"""

NO_LIMIT = np.iinfo(np.int64).max


class CompiledEngine(Engine):
    """The base of compiled engines, which play the games of a numpy engine one after the other.

    From then on, none of the arrays of these games may be replaced.
    """

    name = NUMBA

    _loops: tuple[Any, Any]
    """What plays a step of some games, and what begins some games anew and shows them.

    The first takes the first of the games, their end, and actions `(n,)`; the second games `(k,)`;
    then both take the fields of `World`.  The first returns whether the actions of its games were
    inside the action space; if not, nothing has changed.
    """

    def __init__(self, games: NumpyEngine) -> None:
        self._games = games
        self._bind()
        none, outcome = np.empty(0, np.int64), self._empty_outcome()
        with announced(str(self._games.game)):  # unless compiled already: no games are played
            arrays = *outcome[1:4], *self._shown(outcome), *self._arrays
            self._loops[0](0, 0, none, *arrays)
            self._loops[1](none, *arrays)
            self.choose_legal(none.view(np.uint64))

    @abstractmethod
    def _fixed(self) -> tuple[Any, ...]:
        """Return what the games hold besides what all do, and their tables."""

    @abstractmethod
    def _shown(self, outcome: Outcome) -> tuple[NDArray[Any], ...]:
        """Return the arrays of an outcome in which games are shown, as loops take them."""

    def _bind(self) -> None:
        """Put together what all calls of the loops take."""
        games = self._games
        counted = games.streams, games.steps, games.illegal_run, games.illegal, games.ended
        limits = games.max_illegal, games.max_steps or NO_LIMIT
        self._arrays = *counted, *limits, *self._fixed()
        observations, infos = games.observations(EVERY_GAME), games.infos(EVERY_GAME)
        self._observations = observations.shape, observations.dtype
        self._infos = {name: (values.shape, values.dtype) for name, values in infos.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {"_games": self._games, "threads": self.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind()

    def play(self, actions: Any) -> Outcome:
        """Play one action in every game; those that have ended begin anew instead."""
        n, n_actions, play = self._games.num_envs, self._games.game.n_actions, self._loops[0]
        outcome, shared = self._empty_outcome(), self.threads > 1
        chosen = checked_actions(actions, n, n_actions) if shared else shaped_actions(actions, n)
        arguments = chosen, *outcome[1:4], *self._shown(outcome), *self._arrays
        if shared:
            play_shared(play, n, self.threads, arguments)
        elif not play(0, n, *arguments):
            checked_actions(actions, n, n_actions)  # says which one it is
        return outcome

    def begin_shown(self, games: NDArray[np.intp], outcome: Outcome) -> None:
        """Begin new games, and let an outcome show their first positions."""
        begin = self._loops[1]
        begin(games, *outcome[1:4], *self._shown(outcome), *self._arrays)

    def _empty_outcome(self) -> Outcome:
        n = self._games.num_envs
        infos = {name: np.empty(*form) for name, form in self._infos.items()}
        ends = np.empty(n), np.empty(n, np.bool_), np.empty(n, np.bool_)
        return Outcome(np.empty(*self._observations), *ends, infos)


@compiled
def all_inside(first: int, end: int, actions: Ints, n_actions: int) -> bool:
    """Tell whether the actions of some games in a row are inside the action space."""
    inside = True
    for i in range(Word(first), Word(end)):
        inside &= 0 <= actions[i] < n_actions
    return inside


@compiled
def clear(world: World, i: int) -> None:
    """Count anew in a game that begins."""
    world.steps[i] = world.illegal_run[i] = 0
    world.illegal[i] = world.ended[i] = False


@compiled
def finish(world: World, i: int, reward: float, legal: bool, over: bool) -> None:
    """Count a step of a game, and tell whether it has ended."""
    run = 0 if legal else world.illegal_run[i] + 1
    world.illegal[i] = not legal
    world.illegal_run[i] = run
    world.steps[i] += world.max_steps < NO_LIMIT
    cut = run >= world.max_illegal or world.steps[i] >= world.max_steps
    world.ended[i] = over or cut
    world.rewards[i], world.terminations[i], world.truncations[i] = reward, over, cut
