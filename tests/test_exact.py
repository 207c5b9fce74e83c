"""Exact evaluation in tic-tac-toe, against exact facts and against sampled games."""

import numpy as np
import pytest

from baselines.agents import GreedyAgent, RandomAgent
from baselines.evaluation.exact_tictactoe import (
    against_random,
    outcome,
    policy_of,
    worst_case,
)
from baselines.evaluation.sampled import evaluate
from baselines.search.minimax import MinimaxAgent, MinimaxFirstAgent
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import CELLS, DIGITS, POWERS, O, X, solve

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
    policy = policy_of(make(GAME), side)
    assert [100 * share for share in against_random(policy, side)] == pytest.approx(
        percent, abs=0.0005
    )
    assert worst_case(policy, side) == worst


def test_minimax_draws_with_itself():
    for x in (MinimaxAgent, MinimaxFirstAgent):
        for o in (MinimaxAgent, MinimaxFirstAgent):
            shares = outcome(policy_of(x(GAME), "X"), policy_of(o(GAME), "O"))
            assert shares == pytest.approx((0, 1, 0))


@pytest.mark.parametrize("make", AGENTS)
@pytest.mark.parametrize("side", ["X", "O"])
def test_sampled_games_agree(make, side):
    exact = against_random(policy_of(make(GAME), side), side)
    row = evaluate(make(GAME, seed=1), "TicTacToe-v0", {"side": side}, episodes=4000, seed=2)
    for share, expected in zip((row["win"], row["draw"], row["loss"]), exact, strict=True):
        assert abs(share - expected) <= 4 * (expected * (1 - expected) / 4000) ** 0.5 + 1e-9


def best_opponent(policy, mark):
    """Return the opponent that makes the worst outcome of positive probability possible."""
    known = solve()
    worst, answer = known.winner * mark, np.zeros((3**CELLS, CELLS))
    n_marks = (known.marks != 0).sum(axis=(1, 2))
    for code in sorted(np.flatnonzero(known.reachable & ~known.over), key=lambda c: -n_marks[c]):
        mover = known.to_move[code]
        cells = [
            cell
            for cell in np.flatnonzero(known.masks[code])
            if mover != mark or policy[code, cell] > 0
        ]
        outcomes = [worst[code + POWERS[cell] * DIGITS[int(mover)]] for cell in cells]
        worst[code] = min(outcomes, default=1)
        if cells and mover != mark:
            answer[code, cells[int(np.argmin(outcomes))]] = 1.0
    return answer


@pytest.mark.parametrize("make", AGENTS)
@pytest.mark.parametrize(("side", "mark"), [("X", X), ("O", O)])
def test_the_worst_case_is_what_the_best_opponent_reaches(make, side, mark):
    policy = policy_of(make(GAME), side)
    opponent = best_opponent(policy, mark)
    shares = outcome(*((policy, opponent) if side == "X" else (opponent, policy)))
    lost = shares.loss if side == "X" else shares.win
    assert (lost > 0) == (worst_case(policy, side) == -1)
    assert worst_case(policy, side) == (0 if make in (MinimaxAgent, MinimaxFirstAgent) else -1)


class Fixed:
    """Plays one row of numbers as its probabilities."""

    def __init__(self, row):
        self.row = row

    def action_probabilities(self, observations):
        """Return the row for every observation."""
        return np.tile(self.row, (len(observations), 1))


@pytest.mark.parametrize("row", [np.eye(CELLS)[4], np.full(CELLS, 0.5), np.zeros(CELLS)])
def test_probabilities_of_taken_cells_or_with_another_sum_are_refused(row):
    with pytest.raises(
        ValueError, match="expected probabilities of legal actions that add up to 1"
    ):
        policy_of(Fixed(row), "O")
