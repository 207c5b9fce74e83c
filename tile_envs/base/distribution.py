"""Distributions over a few names, as users give them and as random words draw from them."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tile_envs.base.checks import brief, checked_probability
from tile_envs.errors import UsageError


def checked_distribution(
    given: Any, option: str, names: str, example: str, known: Callable[[Any], Any]
) -> dict[Any, float]:
    """Return the probabilities above 0 of a mapping, or of pairs, by name.

    `known` returns a name in the form in which it is kept, or raises a `ValueError`.
    """
    try:
        pairs = dict(given)
    except (TypeError, ValueError):
        pairs = {}
    probabilities: dict[Any, float] = {}
    for name, probability in pairs.items():
        if (kept := known(name)) in probabilities:
            raise UsageError(f"{option} names {kept!r} twice: {given!r}.")
        probabilities[kept] = checked_probability(probability, f"{option}[{name!r}]")
    if not math.isclose(total := sum(probabilities.values()), 1, abs_tol=1e-6):
        raise UsageError(
            f"{option} must map {names} to probabilities that add up to 1, such as {example}, "
            f"got {brief(given)}, which makes {total}."
        )
    return {name: probability for name, probability in probabilities.items() if probability}


def thresholds(probabilities: Sequence[float]) -> tuple[int, ...]:
    """Cumulative thresholds of probabilities in [0, 2**32), without the last one's."""
    return tuple(round(p * 2**32) for p in np.cumsum(probabilities[:-1]))
