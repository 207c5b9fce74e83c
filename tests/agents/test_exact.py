"""Exact evaluation in tic-tac-toe, against exact facts and against sampled games."""

from types import SimpleNamespace

import numpy as np
import pytest

from baselines import evaluate, evaluate_exactly
from baselines.agents import GreedyAgent, RandomAgent
from baselines.evaluation.policies import (
    Outcome,
    against,
    outcome,
    policy_of,
    probabilities_of,
)
from baselines.search.minimax import MinimaxAgent, MinimaxFirstAgent
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import CELLS

GAME = TicTacToe()
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
    results = against(policy_of(make(GAME), side), side)
    assert [100 * share for share in results] == pytest.approx(percent, abs=0.0005)
    assert results.worst == worst
    assert Outcome(1.0, 0.0, 0.0).worst == 1


def test_minimax_draws_with_itself():
    for x in (MinimaxAgent, MinimaxFirstAgent):
        for o in (MinimaxAgent, MinimaxFirstAgent):
            shares = outcome(policy_of(x(GAME), "X"), policy_of(o(GAME), "O"))
            assert shares == pytest.approx((0, 1, 0))


@pytest.mark.parametrize("make", AGENTS)
@pytest.mark.parametrize("side", ["X", "O"])
def test_sampled_games_agree(make, side):
    exact = against(policy_of(make(GAME), side), side)
    row = evaluate(make(GAME, seed=1), "TicTacToe-v0", {"side": side}, episodes=4000, seed=2)
    for share, expected in zip((row["win"], row["draw"], row["loss"]), exact, strict=True):
        assert abs(share - expected) <= 4 * (expected * (1 - expected) / 4000) ** 0.5 + 1e-9


@pytest.mark.parametrize("side", ["X", "O"])
def test_exact_results_are_against_the_opponent_of_the_environment(side):
    agent, options = RandomAgent(GAME, seed=1), {"side": side}
    mixed = options | {"opponent": {"minimax": 0.5, "random": 0.3, "minimax_first": 0.2}}
    exact = evaluate_exactly(agent, "TicTacToe-v0", mixed)
    row = evaluate(agent, "TicTacToe-v0", mixed, episodes=4000, seed=2)
    for name in ("win", "draw", "loss"):
        assert abs(row[name] - exact[name]) < 4 * (exact[name] * (1 - exact[name]) / 4000) ** 0.5
    first = MinimaxFirstAgent(GAME)
    perfect = evaluate_exactly(first, "TicTacToe-v0", options | {"opponent": "minimax"})
    assert (perfect["draw"], perfect["worst"]) == (pytest.approx(1), 0)
    same = evaluate_exactly(first, "TicTacToe-v0", options | {"opponent": MinimaxAgent(GAME)})
    assert (same["win"], same["draw"], same["loss"]) == pytest.approx((0, 1, 0))


@pytest.mark.parametrize("row", [np.eye(CELLS)[4], np.full(CELLS, 0.5), np.zeros(CELLS)])
def test_probabilities_of_illegal_actions_below_0_or_with_another_sum_are_refused(row):
    agent = SimpleNamespace(action_probabilities=lambda boards: np.tile(row, (len(boards), 1)))
    with pytest.raises(ValueError, match="probabilities"):
        policy_of(agent, "O")
    row = np.array([2.0, -1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"plays \[2.0, -1.0"):
        probabilities_of(agent, np.zeros((1, 2, 2)), np.ones((1, 4)))
