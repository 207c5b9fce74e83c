"""Intervals of 95 % confidence: of the mean of scores or outcomes, and of a fraction of games."""

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.errors import extra

UPPER = 0.975
"""The confidence of each bound."""


def interval_of_mean(results: NDArray[np.float64], *, are_outcomes: bool) -> dict[str, Any]:
    """Return the interval of the mean of results `(n,)`: outcomes (-1, 0 and 1), or scores."""
    # A single game has none, nor have equal scores, which do not tell how far scores may differ.
    low, high, method = None, None, None
    if are_outcomes and len(results) > 1:
        (low, high), method = _gaffke(results), "Gaffke's bounds"
    elif np.ptp(results):
        (low, high), method = interval_of_t(results, are_scores=True), "Hall's transformation"
    return {"low": low, "high": high, "interval_method": method}


def interval_of_fraction(count: int, n: int) -> tuple[float, float]:
    """Return Wilson's score interval of a fraction, of which `count` of `n` games were seen."""
    # It covers 95 % on the average over fractions, but 84 % where about 0.17 games are expected.
    z = NormalDist().inv_cdf(UPPER)
    middle = (count + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * sqrt(count * (n - count) / n + z**2 / 4)
    return _rounded(max(0.0, middle - half), min(1.0, middle + half))


def interval_of_t(values: NDArray[np.float64], *, are_scores: bool = False) -> tuple[float, float]:
    """Return Student's interval of the mean of values `(n,)`, n > 1.

    That of scores, none of which is below 0, is corrected for their skewness: Hall 1992, "On the
    removal of skewness by transformation", the cubic transformation.
    """
    with extra("baselines"):  # late: scipy takes a second, which only those who ask should wait
        from scipy.special import stdtrit

    n, mean = len(values), values.mean()
    t = float(stdtrit(n - 1, UPPER)) * np.array([1, -1])
    if are_scores:
        shift = ((values - mean) ** 3).mean() / values.std() ** 3 / sqrt(n)
        if abs(shift) > 1e-9:  # else the transformation is the identity
            t = 3 / shift * (np.cbrt(1 + shift * (t - shift / 6)) - 1)
    bounds = mean - t * values.std(ddof=1) / sqrt(n)
    return _rounded(*bounds.clip(min=0 if are_scores else None))


def _gaffke(outcomes: NDArray[np.float64]) -> tuple[float, float]:
    """Return bounds of the mean of outcomes, which hold for any number of games.

    One game more is assumed, with the worst outcome for the lower bound and the best for the upper;
    the bounds are quantiles of the mean under Dirichlet weights.  Gaffke 2005, "Three test
    statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable";
    Learned-Miller and Thomas 2020.
    """
    counts = [int((outcomes == outcome).sum()) for outcome in (1, 0, -1)]
    draws = 100_000  # whose error is 0.5 % of the interval's width
    weights = np.random.default_rng(0).standard_gamma([*counts, 1], (draws, 4))
    wins, _, losses, one_more = (weights / weights.sum(axis=1, keepdims=True)).T
    difference = wins - losses
    low = np.quantile(difference - one_more, 1 - UPPER)
    return _rounded(low, np.quantile(difference + one_more, UPPER))


def _rounded(low: float, high: float) -> tuple[float, float]:
    return round(float(low), 6), round(float(high), 6)
