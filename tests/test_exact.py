"""The exact judge of tic-tac-toe, against exact facts and against the sampled one."""

import gymnasium as gym
import numpy as np
import pytest

from baselines.agent import GreedyAgent, RandomAgent
from baselines.evaluate import judge
from baselines.exact import against_random, outcome, policy_of, random_policy, worst_case
from baselines.search.minimax import MinimaxAgent, MinimaxFirstAgent
from tile_envs.tictactoe.positions import CELLS, solve

ENV = gym.make("TicTacToe-v0")
AGENTS = [RandomAgent, GreedyAgent, MinimaxAgent, MinimaxFirstAgent]


@pytest.mark.parametrize(
    ("make", "side", "percent", "worst"),
    [
        (RandomAgent, "X", (58.492, 12.698, 28.810), -1),
        (RandomAgent, "O", (28.810, 12.698, 58.492), -1),
        (MinimaxAgent, "X", (96.781, 3.219, 0), 0),
        (MinimaxAgent, "O", (77.748, 22.252, 0), 0),
    ],
)
def test_known_pairings_come_out_exactly(make, side, percent, worst):
    policy = policy_of(make(ENV), side)
    assert [100 * share for share in against_random(policy, side)] == pytest.approx(
        percent, abs=0.0005
    )
    assert worst_case(policy, side) == worst


@pytest.mark.parametrize("make", [MinimaxAgent, MinimaxFirstAgent])
@pytest.mark.parametrize("side", ["X", "O"])
def test_minimax_never_loses(make, side):
    assert worst_case(policy_of(make(ENV), side), side) == 0


def test_minimax_draws_with_itself():
    for x in (MinimaxAgent, MinimaxFirstAgent):
        for o in (MinimaxAgent, MinimaxFirstAgent):
            shares = outcome(policy_of(x(ENV), "X"), policy_of(o(ENV), "O"))
            assert shares == pytest.approx((0, 1, 0))


@pytest.mark.parametrize("make", AGENTS)
@pytest.mark.parametrize("side", ["X", "O"])
def test_the_sampled_judge_agrees(make, side):
    exact = against_random(policy_of(make(ENV), side), side)
    row, _ = judge(make(ENV, seed=1), "", "TicTacToe-v0", {"side": side}, episodes=4000, seed=2)
    for share, expected in zip((row["win"], row["draw"], row["loss"]), exact, strict=True):
        assert abs(share - expected) <= 4 * (expected * (1 - expected) / 4000) ** 0.5 + 1e-9


def test_the_worst_case_is_found_by_the_best_opponent():
    """Of all opponents one forces the worst; against uniform play it is reached with luck."""
    policy = policy_of(GreedyAgent(ENV), "X")
    assert worst_case(policy, "X") == -1
    assert against_random(policy, "X").loss > 0


class Fixed:
    """Plays one row of numbers as its probabilities."""

    def __init__(self, row):
        self.row = row

    def action_probabilities(self, observations):
        """Return the row for every observation."""
        return np.tile(self.row, (len(observations), 1))


@pytest.mark.parametrize("row", [np.eye(CELLS)[4], np.full(CELLS, 0.5), np.zeros(CELLS)])
def test_probabilities_of_taken_cells_or_with_another_sum_are_refused(row):
    with pytest.raises(ValueError, match="expected probabilities of free cells that add up to 1"):
        policy_of(Fixed(row), "O")


def test_the_random_policy_covers_every_position_that_goes_on():
    known = solve()
    assert np.allclose(random_policy()[~known.over & known.reachable].sum(axis=1), 1)
