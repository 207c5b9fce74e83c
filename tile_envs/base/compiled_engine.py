"""What engines of compiled code share: how they are called, and what all games count.

An engine hands its loops numpy arrays one by one: numba takes twice as long to unpack those in a
tuple.  In the loops they are put together again, so that each array has a name.

A loop's body must not leave a step early: where it does, numba counts references to all arrays,
once for each game, which takes longer than the game's whole step.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import checked_actions, shaped_actions
from tile_envs.base.compiled import announced, compiled
from tile_envs.base.engine import NUMBA, Bools, Engine, Floats, Outcome, Positions, Terms
from tile_envs.base.random_stream import Words

Ints = NDArray[np.int64]
Arrays = tuple[NDArray[Any], ...]

NO_LIMIT = np.iinfo(np.int64).max


class Common(NamedTuple):
    """What all games have and count, as `Engine` has it; and the limits.

    Attributes:
        streams: The positions of the random streams.
        steps: The number of steps, where it is limited.
        illegal_run: The illegal actions in a row.
        illegal: Whether the last action was illegal.
        ended: Whether the game has ended.
        max_illegal: Consecutive illegal actions that truncate a game.
        max_steps: Steps that do, or `NO_LIMIT`.
    """

    streams: Words
    steps: Ints
    illegal_run: Ints
    illegal: Bools
    ended: Bools
    max_illegal: int
    max_steps: int


class Ends(NamedTuple):
    """Room for what a step brings, `(n,)` each."""

    rewards: Floats
    terminations: Bools
    truncations: Bools


class CompiledEngine(Engine[Positions]):
    """The base of compiled engines; it goes before the numpy engine whose arrays it shares.

    Args:
        game: The game.
        terms: How it is played.
    """

    name = NUMBA

    _loops: tuple[Any, Any]
    """What plays a step of all games, and what begins some games anew and shows them.

    The first takes actions `(n,)`, the second games `(k,)`; then both take the arrays of `Ends`,
    `_shown`, `Common` and `_arrays`.  The first returns whether all actions were inside the action
    space; if not, nothing has changed.
    """

    def __init__(self, game: Any, terms: Terms) -> None:
        super().__init__(game, terms)  # type: ignore[call-arg] # of the numpy engine
        self._bind()
        self._compile()

    @property
    @abstractmethod
    def _what(self) -> str:
        """The game in words, with what other code is compiled for."""

    @abstractmethod
    def _arrays(self) -> tuple[Any, ...]:
        """Return what a game adds to `Common`, and its tables, one by one."""

    @abstractmethod
    def _room(self, n: int) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Return fresh arrays for the observations and the infos of n games, `illegal` last."""

    @abstractmethod
    def _shown(self, outcome: Outcome) -> Arrays:
        """Return the arrays of an outcome in which games are shown, as loops take them."""

    def _bind(self) -> None:
        """Put together what all calls of the loops take; no array is ever replaced."""
        terms = self._terms
        common = Common(
            self.streams,
            self.steps,
            self.illegal_run,
            self.illegal,
            self.ended,
            terms.max_illegal,
            NO_LIMIT if terms.max_steps is None else terms.max_steps,
        )
        self._fixed = *common, *self._arrays()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_fixed"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind()

    def _compile(self) -> None:
        """Compile the loops, unless that has been done: play no games."""
        none, outcome = np.empty(0, np.int64), self._empty_outcome(0)
        with announced(self._what):
            for loop in self._loops:
                loop(none, *outcome[1:4], *self._shown(outcome), *self._fixed)
            self.choose_legal(none.view(np.uint64))

    def _play_all(self, actions: Any) -> Outcome:
        n = self._terms.num_envs
        outcome = self._empty_outcome(n)
        play = self._loops[0]
        chosen = shaped_actions(actions, n)
        if not play(chosen, *outcome[1:4], *self._shown(outcome), *self._fixed):
            checked_actions(actions, n, self._terms.n_actions)  # says which one it is
        return outcome

    def _empty_outcome(self, n: int) -> Outcome:
        observations, infos = self._room(n)
        ends = np.empty(n, np.float64), np.empty(n, np.bool_), np.empty(n, np.bool_)
        return Outcome(observations, *ends, infos)

    def _begin_shown(self, games: NDArray[np.intp], outcome: Outcome) -> None:
        begin = self._loops[1]
        begin(games, *outcome[1:4], *self._shown(outcome), *self._fixed)


@compiled
def all_inside(actions: Ints, n_actions: int) -> bool:
    """Tell whether all actions are inside the action space."""
    inside = True
    for action in actions:
        inside &= 0 <= action < n_actions
    return inside


@compiled
def clear(common: Common, i: int) -> None:
    """Count anew in a game that begins."""
    common.steps[i] = 0
    common.illegal_run[i] = 0
    common.illegal[i] = False
    common.ended[i] = False


@compiled
def finish(common: Common, ends: Ends, i: int, reward: float, legal: bool, over: bool) -> None:
    """Count a step of a game, and tell whether it has ended."""
    run = 0 if legal else common.illegal_run[i] + 1
    common.illegal[i] = not legal
    common.illegal_run[i] = run
    common.steps[i] += common.max_steps < NO_LIMIT
    cut = run >= common.max_illegal or common.steps[i] >= common.max_steps
    common.ended[i] = over or cut
    ends.rewards[i], ends.terminations[i], ends.truncations[i] = reward, over, cut
