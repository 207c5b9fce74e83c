"""The network learner: both recipes, what it is taught, and checkpoints."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from baselines.deep.tictactoe_net import Neural, NeuralSettings

from baselines.episodes import Episodes
from baselines.exact import against_random, policy_of, worst_case
from baselines.learner import SIDES
from baselines.training import default_options

ENV = gym.make("TicTacToe-v0")
SMALL = {"batch": 200, "hidden": 16, "passes": 5, "memory": 2000}


def trained(settings, rounds, seed=0, sides=SIDES):
    made = Neural(ENV, sides, settings, seed)
    for _ in range(rounds):
        made.learn()
    return made


def published(**changes):
    options = default_options("neural", "TicTacToe-v0", "published")
    return type(options.settings)(**vars(options.settings) | changes)


def test_seconds_of_learning_go_far():
    made = trained(NeuralSettings(batch=3000), 6)
    for side, wins in (("X", 0.93), ("O", 0.83)):
        assert against_random(policy_of(made, side), side).win > wins


def test_seconds_of_the_published_recipe_beat_random_play():
    made = trained(published(epsilon=0.5), 60)
    assert against_random(policy_of(made, "X"), "X").win > 0.7
    assert against_random(policy_of(made, "O"), "O").win > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_default_run_plays_nearly_the_best_and_never_loses(seed):
    options = default_options("neural", "TicTacToe-v0", None)
    made = trained(options.settings, options.games // options.settings.batch, seed)
    for side, wins in (("X", 0.99), ("O", 0.9)):
        policy = policy_of(made, side)
        assert against_random(policy, side).win >= wins
        assert worst_case(policy, side) == 0


@pytest.mark.slow
def test_the_published_recipe_reaches_its_figures():
    options = default_options("neural", "TicTacToe-v0", "published")
    made = trained(options.settings, options.games // options.settings.batch)
    for side, wins in (("X", 0.984 - 0.01), ("O", 0.754 - 0.01)):
        policy = policy_of(made, side)
        assert against_random(policy, side).win >= wins
        assert worst_case(policy, side) == 0


def test_the_published_network_is_as_large_as_published():
    made = trained(published(), 0)
    shapes = [array.shape for name, array in made.state().items() if "weight" in name]
    assert shapes == [(36, 9), (36, 36), (9, 36)] * 2


BOARD = np.array([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], np.int8)
ONE = np.ones((1, 1), np.bool_)


def test_a_move_is_fitted_to_its_mean_result():
    """X wins at once, and after another move loses twice and draws once."""
    settings = NeuralSettings(hidden=32, passes=500, memory=10, learning_rate=0.01)
    made = Neural(ENV, ("X",), settings, 0)
    for action, result in ((2, 1.0), (8, -1.0), (8, 0.0), (8, -1.0)):
        made.learn_from(Episodes(BOARD[None, None], np.array([[action]]), result * ONE, ONE))
    values = made.values(BOARD[None])[0]
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
    assert made.values(before[None])[0, 1] == pytest.approx(1, abs=0.05)


def test_illegal_moves_are_taught_as_losses():
    settings = published(minibatch=1, passes=1000, learning_rate=1.0)
    made = Neural(ENV, ("X",), settings, 0)
    made.learn_from(Episodes(BOARD[None, None], np.array([[2]]), ONE * 1.0, ONE))
    network = made._players["X"]._network
    taught = network(torch.from_numpy(BOARD.reshape(1, 9).astype(np.float32)))[0].detach().numpy()
    assert taught[2] > 0.95
    assert (taught[[0, 1, 3, 4]] < 0.1).all()


def test_the_memory_forgets_the_oldest():
    settings = NeuralSettings(hidden=32, passes=300, memory=2, learning_rate=0.01)
    made = Neural(ENV, ("X",), settings, 0)
    for result in (-1.0, 1.0, 1.0):
        made.learn_from(Episodes(BOARD[None, None], np.array([[2]]), result * ONE, ONE))
    assert made.values(BOARD[None])[0, 2] == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("settings", [NeuralSettings(**SMALL), published(batch=200)])
def test_the_same_seed_learns_the_same_network(settings):
    one, same, other = (trained(settings, 2, seed).state() for seed in (1, 1, 2))
    assert all(np.array_equal(array, same[name]) for name, array in one.items())
    assert any(not np.array_equal(array, other[name]) for name, array in one.items())


@pytest.mark.parametrize("settings", [NeuralSettings(**SMALL), published(batch=200)])
def test_a_restored_learner_goes_on_as_if_nothing_had_happened(settings):
    whole, half = trained(settings, 4).state(), trained(settings, 2)
    again = Neural(ENV, SIDES, settings, 0)
    again.restore(half.state())
    for _ in range(2):
        again.learn()
    assert all(np.array_equal(array, again.state()[name]) for name, array in whole.items())


def test_a_learner_of_one_side_leaves_torch_its_random_numbers():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    trained(NeuralSettings(**SMALL), 1, sides=("O",))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("opponent", "self"),
        ("hidden", 0),
        ("minibatch", 0),
        ("passes", 0),
        ("memory", -1),
        ("optimizer", "lion"),
        ("learning_rate", 0.0),
        ("epsilon", 1.5),
    ],
)
def test_settings_out_of_range_are_named(setting, value):
    with pytest.raises(ValueError, match=f"{setting} must be .*, got {value!r}"):
        Neural(ENV, SIDES, NeuralSettings(**{setting: value}), 0)


def test_values_beyond_a_sigmoid_are_named():
    with pytest.raises(ValueError, match=r"loss must be from 0 to 1 with a sigmoid, got -10"):
        Neural(ENV, SIDES, NeuralSettings(sigmoid=True), 0)
    with pytest.raises(ValueError, match=r"plays TicTacToe-v0 only: use qtable"):
        Neural(gym.make("Tiles2048-v0"), (), NeuralSettings(), 0)
