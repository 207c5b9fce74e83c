"""Intervals of 95 % confidence: of means, of fractions of games, and of differences."""

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from tile_envs.errors import extra
from tile_envs.game import Floats

UPPER, POWER = 0.975, 0.8  # the confidence of each bound, and the power of samples that are advised


def interval_of_mean(results: Floats, *, are_outcomes: bool) -> dict[str, Any]:
    """Return the interval of the mean of results `(n,)`: outcomes (-1, 0 and 1), or scores."""
    # A single game has none, nor have equal scores, which do not tell how far scores may differ.
    low, high, method = None, None, None
    if are_outcomes and len(results) > 1:
        (low, high), method = _gaffke(results), "Gaffke's bounds"
    elif np.ptp(results):
        (low, high), method = _hall(results), "Hall's transformation"
    return {"low": low, "high": high, "interval_method": method}


def interval_of_fraction(count: int, n: int) -> tuple[float, float]:
    """Return Wilson's score interval of a fraction, of which `count` of `n` games were seen."""
    # It covers 95 % on the average over fractions, but 84 % where about 0.17 games are expected.
    z = NormalDist().inv_cdf(UPPER)
    middle = (count + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * sqrt(count * (n - count) / n + z**2 / 4)
    return _rounded(max(0.0, middle - half), min(1.0, middle + half))


def _hall(scores: Floats) -> tuple[float, float]:
    """Return Student's interval of the mean of scores `(n,)`, n > 1, corrected for their skewness.

    No score is below 0.  Hall 1992, "On the removal of skewness by transformation", the cubic one.
    """
    with extra("baselines"):  # late: scipy takes a second, which only those who ask should wait
        from scipy.special import stdtrit

    n, mean = len(scores), scores.mean()
    t = float(stdtrit(n - 1, UPPER)) * np.array([1, -1])
    shift = ((scores - mean) ** 3).mean() / scores.std() ** 3 / sqrt(n)
    if abs(shift) > 1e-9:  # else the transformation is the identity
        t = 3 / shift * (np.cbrt(1 + shift * (t - shift / 6)) - 1)
    return _rounded(*(mean - t * scores.std(ddof=1) / sqrt(n)).clip(min=0))


def difference(a: Floats, b: Floats, *, are_paired: bool) -> tuple[Floats, Floats]:
    """Return how far the means of two samples differ, `(..., n)` and `(..., m)`, with bounds.

    They are stacked, `(3, ...)`: mean, low, high.  With them comes the size of both samples that
    would tell them apart.

    Of pairs, which differ by d, the interval is Student's, mean(d) ± t s(d) / √n with n - 1 degrees
    of freedom.  Else it is Welch's, mean(a) - mean(b) ± t √(u + v), with u = s(a)² / n and
    v = s(b)² / m, and (u + v)² / (u² / (n - 1) + v² / (m - 1)) degrees of freedom: Welch 1947, "The
    generalization of 'Student's' problem when several different population variances are involved".

    Samples of that size tell a difference of this mean and spread from 0 four times in five:
    (z(0.975) + z(0.8))² s² / mean² + z(0.975)² / 2, with s² = s(d)²; or, of two samples, with
    s² = s(a)² + s(b)² and z(0.975)² / 4.
    Guenther 1981, "Sample size formulas for normal theory t tests".
    """
    with extra("baselines"):
        from scipy.special import stdtrit

    samples = [a - b] if are_paired else [a, b]
    sizes = [sample.shape[-1] for sample in samples]
    variances = [sample.var(axis=-1, ddof=1) for sample in samples]
    errors = [variance / n for variance, n in zip(variances, sizes, strict=True)]
    mean, z = a.mean(axis=-1) - b.mean(axis=-1), NormalDist().inv_cdf(UPPER)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [error**2 / (n - 1) for error, n in zip(errors, sizes, strict=True)]
        freedom = np.nan_to_num(sum(errors) ** 2 / sum(parts), nan=1.0)  # where nothing varies
        half = stdtrit(freedom, UPPER) * np.sqrt(sum(errors))
        needed = (z + NormalDist().inv_cdf(POWER)) ** 2 * sum(variances) / mean**2
        needed += z**2 / (2 * len(samples))
    return np.stack([mean, (mean - half).round(6), (mean + half).round(6)]), needed


def _gaffke(outcomes: Floats) -> tuple[float, float]:
    """Return bounds of the mean of outcomes, which are conjectured to hold for few games, too.

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
