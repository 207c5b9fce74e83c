"""The network learner: both recipes, what it is taught, and checkpoints."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from baselines.deep.neural import Neural, NeuralSettings
from baselines.evaluation.exact_tictactoe import against_random, policy_of, worst_case
from baselines.training.episodes import Episodes
from baselines.training.run import default_options
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.tictactoe import TicTacToe

GAME, SIDES = TicTacToe(), ("X", "O")


def published(**changes):
    return replace(NeuralSettings(), **changes)


def tuned(**changes):
    return replace(default_options("neural", "TicTacToe-v0").settings, **changes)


SMALL = tuned(n_envs=200, hidden=16, n_epochs=5, buffer_size=2000)


def trained(settings, iterations, seed=0, sides=SIDES):
    made = Neural(GAME, seed, settings, sides)
    for _ in range(iterations):
        made.learn()
    return made


def test_seconds_of_learning_go_far():
    made = trained(tuned(n_envs=3000), 6)
    for side, wins in (("X", 0.93), ("O", 0.83)):
        assert against_random(policy_of(made, side), side).win > wins


def test_seconds_of_the_published_recipe_beat_random_play():
    made = trained(published(epsilon=0.5), 40)
    assert against_random(policy_of(made, "X"), "X").win > 0.7
    assert against_random(policy_of(made, "O"), "O").win > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_default_run_plays_nearly_the_best_and_never_loses(seed):
    options = default_options("neural", "TicTacToe-v0", None)
    made = trained(options.settings, options.games // options.settings.n_envs, seed)
    for side, wins in (("X", 0.99), ("O", 0.9)):
        policy = policy_of(made, side)
        assert against_random(policy, side).win >= wins
        assert worst_case(policy, side) == 0


@pytest.mark.slow
def test_the_published_recipe_reaches_its_results():
    options = default_options("neural", "TicTacToe-v0", "published")
    made = trained(options.settings, options.games // options.settings.n_envs)
    for side, wins in (("X", 0.984 - 0.01), ("O", 0.754 - 0.01)):
        policy = policy_of(made, side)
        assert against_random(policy, side).win >= wins
        assert worst_case(policy, side) == 0


BOARD = np.array([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], np.int8)
ONE = np.ones((1, 1), np.bool_)


def test_a_move_is_fitted_to_its_mean_result():
    """X wins at once, and after another move loses twice and draws once."""
    settings = tuned(hidden=32, n_epochs=500, buffer_size=10, learning_rate=0.01)
    made = Neural(GAME, 0, settings, ("X",))
    for action, result in ((2, 1.0), (8, -1.0), (8, 0.0), (8, -1.0)):
        made.learn_from(Episodes(BOARD[None, None], np.array([[action]]), result * ONE, ONE))
    values = made.action_values(BOARD[None])[0]
    assert values[[2, 8]] == pytest.approx([1, -20 / 3], abs=0.05)
    assert np.isneginf(values[[0, 1, 3, 4]]).all()
    # The best value of the next board is the target of the move before.
    before = np.array([[1, 0, 0], [-1, 0, 0], [0, 0, 0]], np.int8)
    episode = Episodes(
        np.stack([before, BOARD])[:, None],
        np.array([[1], [2]]),
        np.array([[0.0], [1.0]]),
        np.ones((2, 1), np.bool_),
    )
    made.learn_from(episode)
    assert made.action_values(before[None])[0, 1] == pytest.approx(1, abs=0.05)


def test_illegal_moves_are_taught_as_losses():
    settings = published(batch_size=1, n_epochs=1000, learning_rate=1.0)
    made = Neural(GAME, 0, settings, ("X",))
    made.learn_from(Episodes(BOARD[None, None], np.array([[2]]), ONE * 1.0, ONE))
    network = made._players["X"]._network
    taught = network(torch.from_numpy(BOARD.reshape(1, 9).astype(np.float32)))[0].detach().numpy()
    assert taught[2] > 0.95
    assert (taught[[0, 1, 3, 4]] < 0.1).all()


def test_the_buffer_forgets_the_oldest():
    settings = tuned(hidden=32, n_epochs=300, buffer_size=2, learning_rate=0.01)
    made = Neural(GAME, 0, settings, ("X",))
    for result in (-1.0, 1.0, 1.0):
        made.learn_from(Episodes(BOARD[None, None], np.array([[2]]), result * ONE, ONE))
    assert made.action_values(BOARD[None])[0, 2] == pytest.approx(1, abs=0.05)


def test_a_learner_of_one_side_leaves_torch_its_random_numbers():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    trained(SMALL, 1, sides=("O",))
    assert torch.equal(torch.rand(3), expected)


def test_unusable_games_and_sides_are_named():
    with pytest.raises(ValueError, match=r"plays tic-tac-toe only, not 2048 on 4×4: use qtable"):
        Neural(SlidingGame(RULES_2048))
    with pytest.raises(ValueError, match="tic-tac-toe has no side 'Z', only X, O"):
        Neural(GAME, sides=("Z",))
