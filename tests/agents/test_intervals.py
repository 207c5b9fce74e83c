"""Intervals: what they cover, and where rows name them."""

import numpy as np
import pytest

from baselines.agents import RandomAgent, Task
from baselines.evaluation.intervals import difference, interval_of_fraction, interval_of_mean
from baselines.evaluation.sampled import Record, play, summary


def outcomes(wins, draws, losses):
    return np.repeat([1.0, 0.0, -1.0], [wins, draws, losses])


CASES = (10, 0.99, 0, 0.01), (10, 0.09, 0.9, 0.01), (100, 0.99, 0, 0.01), (1000, 0.999, 0, 0.001)


@pytest.mark.parametrize(("n", "win", "draw", "loss"), CASES)
def test_intervals_of_rare_outcomes_cover_the_mean(n, win, draw, loss):
    samples = np.random.default_rng(0).multinomial(n, (win, draw, loss), 2000)
    drawn, times = np.unique(samples, axis=0, return_counts=True)
    bounds = [interval_of_mean(outcomes(*counts), are_outcomes=True) for counts in drawn]
    covers = [bound["low"] <= win - loss <= bound["high"] for bound in bounds]
    assert times[covers].sum() / 2000 >= 0.95


def test_intervals_of_few_skewed_scores_cover_the_mean():
    game = Task.of("Tiles2048-v0").game
    scores = play(RandomAgent(game), "Tiles2048-v0", episodes=2000).returns
    samples = np.random.default_rng(0).choice(scores, (1000, 10))
    bounds = [interval_of_mean(sample, are_outcomes=False) for sample in samples]
    assert np.mean([bound["low"] <= scores.mean() <= bound["high"] for bound in bounds]) >= 0.93


def test_intervals_of_fractions_are_those_that_wilson_published():
    published = {(81, 263): (0.2553, 0.3662), (0, 20): (0, 0.1611), (1, 29): (0.0061, 0.1718)}
    for counts, bounds in published.items():  # Newcombe 1998, table I, method 3
        assert interval_of_fraction(*counts) == pytest.approx(bounds, abs=5e-5)
    assert interval_of_fraction(20, 20) == pytest.approx((1 - 0.1611, 1), abs=5e-5)


@pytest.mark.parametrize(("n", "m", "are_paired"), [(5, 5, True), (5, 5, False), (4, 9, False)])
def test_intervals_over_seeds_cover_the_difference_of_equal_settings(n, m, are_paired):
    luck = np.random.default_rng(0).normal(900, 50, (10_000, n + m))
    (_, low, high), _ = difference(luck[:, :n], luck[:, n:], are_paired=are_paired)
    assert ((low <= 0) & (high >= 0)).mean() == pytest.approx(0.95, abs=0.01)


def test_as_many_seeds_as_are_needed_tell_settings_apart_four_times_in_five():
    a, b = np.tile([10.0, -2.0], 50), np.zeros(100)  # whose means differ by 4
    n = int(np.ceil(difference(a, b, are_paired=True)[1]))
    drawn = np.random.default_rng(0).normal(4, 6, (5_000, n))
    (_, low, _), _ = difference(drawn, b[:n], are_paired=True)
    assert (low > 0).mean() == pytest.approx(0.8, abs=0.03)


def test_rows_name_the_method_of_their_intervals():
    def row_of(results, faces=()):
        tiles, boards = np.where(results > results.mean(), 8, 4), np.zeros((0, 2, 2))
        record = Record(results, tiles, boards, faces, moves=9, illegal=0, seconds=1.0)
        return summary(record, "someone", "TicTacToe-v0", {}, seed=0)

    row = row_of(outcomes(100, 0, 0))
    assert (row["interval_method"], row["high"]) == ("Gaffke's bounds", 1)
    row = row_of(np.array([4.0, 8, 100]), faces=(0, 2, 4, 8))
    assert row["interval_method"] == "Hall's transformation"
    assert row["fraction_intervals"][8] == list(interval_of_fraction(1, 3))
    same = row_of(np.array([7.0, 7.0]), faces=(0, 2, 4))  # which does not tell how far they differ
    assert same["interval_method"] is None
