"""Potentials: how good a board of a sliding game looks, for `tile_envs.wrappers.ShapeReward`."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import as_array, as_number, brief, checked_probability, listed
from tile_envs.errors import UsageError
from tile_envs.sliding import Rules
from tile_envs.wrappers.transforms import checked_boards_space

Boards = NDArray[np.uint8]
Floats = NDArray[np.float64]
Potential = Mapping[str, float] | Callable[[Boards], Any]


def empty(boards: Boards, rules: Rules) -> Any:
    """Count the empty cells."""
    return (boards == 0).sum(axis=(1, 2))


def monotonicity(boards: Boards, rules: Rules) -> Any:
    """Return 0 where all rows and columns rise or fall, less for others.

    A line loses what its tile indices climb, or what they descend, whichever is less; an empty
    cell counts as 0.
    """
    total = 0
    for axis in (1, 2):
        steps = np.diff(boards.astype(np.int64), axis=axis)
        climbed, descended = (np.maximum(way, 0).sum(axis=axis) for way in (steps, -steps))
        total = total - np.minimum(climbed, descended).sum(axis=1)
    return total


def merges(boards: Boards, rules: Rules) -> Any:
    """Count the pairs of neighbors that merge by the rules."""
    merging = np.zeros((len(rules.faces),) * 2, np.bool_)
    a, b, _ = np.array(rules.merges, np.int64).reshape(-1, 3).T
    merging[a, b] = merging[b, a] = True
    below = merging[boards[:, 1:], boards[:, :-1]]
    beside = merging[boards[:, :, 1:], boards[:, :, :-1]]
    return below.sum(axis=(1, 2)) + beside.sum(axis=(1, 2))


POTENTIALS = {"empty": empty, "monotonicity": monotonicity, "merges": merges}


class Shaping:
    """The rewards that a potential adds; see `tile_envs.wrappers.ShapeReward`."""

    def __init__(self, env: Any, potential: Potential, gamma: float) -> None:
        checked_boards_space(env, "potentials")
        given = potential if isinstance(potential, Mapping) else {}
        weights: Any = {name: as_number(weight) for name, weight in given.items()}
        finite = all(w is not None and math.isfinite(w) for w in weights.values())
        if not (callable(potential) or (weights and finite and weights.keys() <= {*POTENTIALS})):
            raise UsageError(
                f"potential must be finite weights of {listed(POTENTIALS)}, or a function of "
                f"boards, got {brief(potential)}."
            )
        self._gamma, self._weights = checked_probability(gamma, "gamma"), weights
        self._rules: Rules = env.unwrapped.game.rules
        self._potential = potential if callable(potential) else self._weighted

    def added(self, start: Floats, boards: Boards, terminations: Any) -> Floats:
        """Return what is added `(n,)` when boards whose potentials are `start` lead to others."""
        end: Floats = np.where(terminations, 0.0, self.potentials(boards))
        return self._gamma * end - start

    def _weighted(self, boards: Boards) -> Any:
        return sum(w * POTENTIALS[name](boards, self._rules) for name, w in self._weights.items())

    def potentials(self, boards: Boards) -> Floats:
        """Return the potentials `(n,)` of boards `(n, R, C)`."""
        values = as_array(answer := self._potential(boards.copy()))  # it may be a user's
        is_number = values.shape == (len(boards),) and values.dtype.kind in "biuf"
        if not is_number or not np.isfinite(values).all():
            raise UsageError(
                f"potential must return {len(boards)} finite numbers, one for each board, "
                f"got {brief(answer)}."
            )
        return values.astype(np.float64)
