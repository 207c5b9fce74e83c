"""The table learners: the published recipes, the exact optimum, and small sliding boards."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.exact_tictactoe import against_random, policy_of, worst_case
from baselines.evaluation.sampled import play
from baselines.tabular.boards import BoardCodes, move_entries
from baselines.tabular.qtable import QTable, QTableSettings
from baselines.tabular.value_table import ValueTable
from baselines.training.episodes import Episodes
from baselines.training.run import default_options
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame, afterstates
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import encode

GAME, SIDES = TicTacToe(), ("X", "O")
LEARNERS = [QTable, ValueTable]
NAMES = {QTable: "qtable", ValueTable: "value_table"}
BEST = {"X": (99.479, 0.521, 0.0), "O": (91.640, 8.360, 0.0)}


def tuned(learner, **changes):
    """Return the settings of the default preset for tic-tac-toe, changed."""
    return replace(default_options(NAMES[learner], "TicTacToe-v0").settings, **changes)


def trained(learner, settings, iterations, seed=0, sides=SIDES, game=GAME):
    made = learner(game, seed, settings, sides)
    for _ in range(iterations):
        made.learn()
    return made


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_second_of_learning_goes_far(learner):
    made = trained(learner, tuned(learner), 40)
    for side, wins in (("X", 0.95), ("O", 0.85)):
        assert against_random(policy_of(made, side), side).win > wins


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_default_run_plays_the_best_that_never_loses(learner, seed):
    made = trained(learner, tuned(learner), 300, seed)
    for side, percent in BEST.items():
        policy = policy_of(made, side)
        assert [100 * share for share in against_random(policy, side)] == pytest.approx(
            percent, abs=0.0005
        )
        assert worst_case(policy, side) == 0


@pytest.mark.slow
def test_the_published_recipe_of_the_q_table_reaches_its_figures():
    options = default_options("qtable", "TicTacToe-v0", "published")
    made = trained(QTable, options.settings, options.games)
    for side, wins in (("X", 0.931), ("O", 0.610)):
        assert against_random(policy_of(made, side), side).win >= wins
        assert worst_case(policy_of(made, side), side) == 0


@pytest.mark.slow
@pytest.mark.parametrize("merge", [False, True])
def test_merging_symmetric_boards_changes_nothing_in_strength(merge):
    made = trained(QTable, tuned(QTable, merge_symmetric=merge), 500)
    for side, percent in BEST.items():
        win = against_random(policy_of(made, side), side).win
        assert 100 * win == pytest.approx(percent[0], abs=0.0005)


@pytest.mark.parametrize("learner", LEARNERS)
def test_self_play_learns_to_draw_with_perfect_play(learner):
    made = trained(learner, tuned(learner, opponent="self", loss_weight=1.0), 100)
    assert worst_case(policy_of(made, "X"), "X") == 0
    assert worst_case(policy_of(made, "O"), "O") == 0


def test_one_step_q_learning_goes_forwards_and_learns():
    made = trained(QTable, tuned(QTable, backwards=False), 60)
    assert against_random(policy_of(made, "X"), "X").win > 0.9


@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "Tiles2584-v0"])
def test_a_q_table_learns_small_sliding_games(env_id):
    game = gym.make(env_id, shape=(2, 2)).unwrapped.game
    made = trained(QTable, tuned(QTable, epsilon=0.3, n_envs=500), 40, sides=(), game=game)
    untrained = QTable(game)
    ours = play(made, env_id, {"shape": (2, 2)}, episodes=500)
    theirs = play(untrained, env_id, {"shape": (2, 2)}, episodes=500)
    assert ours.returns.mean() > 1.5 * theirs.returns.mean()


def test_a_q_table_that_starts_high_tries_every_move():
    game = SlidingGame(RULES_2048, shape=(2, 2))
    shares = []
    for initial in (0.0, 100.0):
        settings = tuned(QTable, learning_rate_decay=0.6, epsilon=0.0, n_envs=100, initial=initial)
        made = trained(QTable, settings, 40, sides=(), game=game)
        shares.append(evaluate_exactly(made, "Tiles2048-v0", {"shape": (2, 2)})["share"])
    assert shares[0] < 0.9
    assert shares[1] > 0.98


@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize(("rules", "shape"), [(RULES_2048, (2, 3)), (RULES_2584, (2, 2))])
def test_games_in_turn_teach_what_games_of_a_batch_of_one_do(rules, shape, backwards):
    game = SlidingGame(rules, shape)
    settings = tuned(QTable, n_envs=1, epsilon=0.0, initial=100.0, backwards=backwards)
    batch = QTable(game, 0, settings)
    in_turn = QTable(game, 0, replace(settings, sequential=True))
    for _ in range(50):
        assert batch.learn() == in_turn.learn()
    assert np.array_equal(batch.visits, in_turn.visits)
    assert np.allclose(in_turn.q, batch.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("epsilon", "shares"), [(0.0, [1, 0, 0]), (0.6, [0.6, 0.2, 0.2])])
def test_games_in_turn_explore_legal_actions_uniformly(epsilon, shares):
    """Up is illegal on the board, and right the best action on it."""
    game, board = SlidingGame(RULES_2048, (2, 2)), np.array([[[1, 1], [0, 0]]], np.uint8)
    settings = tuned(QTable, sequential=True, merge_symmetric=False, n_envs=50_000)
    made = QTable(game, 0, replace(settings, epsilon=epsilon, learning_rate=1e-9))
    (number,), _ = made._codes.of(board)
    made.q[number, 1] = 1.0
    made.learn()
    visits = made.visits[number]
    assert visits[0] == 0
    assert visits[1:] / visits.sum() == pytest.approx(shares, abs=0.02)


def test_a_target_moves_its_entry_by_the_step_size():
    values, visits = np.array([0.0, 1.0]), np.zeros(2, np.int64)
    move_entries(values, visits, np.array([0]), np.array([10.0]), rate=0.5, decay=0.0)
    move_entries(values, visits, np.array([1, 1]), np.array([2.0, 4.0]), rate=0.5, decay=0.0)
    assert values.tolist() == [5.0, 1.0 + 0.75 * (3.0 - 1.0)]
    move_entries(values, visits, np.array([0]), np.array([10.0]), rate=1.0, decay=1.0)
    assert values[0] == 7.5
    assert visits.tolist() == [2, 2]


def test_q_learning_by_hand():
    """Two games that end at once: X sets its third mark, and X loses to the answer."""
    settings = tuned(QTable, n_envs=1, learning_rate=0.5, learning_rate_decay=0.0, epsilon=0.0)
    made = QTable(GAME, 0, settings, ("X",))
    board = np.array([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], np.int8)
    ones = np.ones((1, 1), np.bool_)
    for action, reward in ((2, 1.0), (8, -1.0)):
        made.learn_from(Episodes(board[None, None], np.array([[action]]), reward * ones, ones))
    values = made.action_values(board[None])[0]
    assert (values[2], values[8]) == (0.5, -5.0)
    before = np.array([[1, 0, 0], [-1, 0, 0], [0, 0, 0]], np.int8)
    episode = Episodes(
        np.stack([before, board])[:, None],
        np.array([[1], [2]]),
        np.array([[0.0], [1.0]]),
        np.ones((2, 1), np.bool_),
    )
    made.learn_from(episode)
    assert made.action_values(board[None])[0, 2] == 0.75
    assert made.action_values(before[None])[0, 1] == pytest.approx(0.375)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (3, 3), (4, 4)])
def test_symmetric_boards_do_symmetric_things(shape):
    rng = np.random.default_rng(0)
    boards = rng.integers(0, 4, (20, *shape))
    cells, actions = SlidingGame(RULES_2048, shape).symmetries
    assert len(cells) == (8 if shape[0] == shape[1] else 4)
    assert len(np.unique(cells, axis=0)) == len(cells)
    after, rewards, _ = afterstates(boards, RULES_2048)
    for image, directions in zip(cells, actions, strict=True):
        images = boards.reshape(20, -1)[:, image].reshape(boards.shape)
        image_after, image_rewards, _ = afterstates(images, RULES_2048)
        for action, as_image in enumerate(directions):
            assert np.array_equal(rewards[:, action], image_rewards[:, as_image])
            moved = after[:, action].reshape(20, -1)[:, image].reshape(boards.shape)
            assert np.array_equal(moved, image_after[:, as_image])


def test_images_of_a_tictactoe_board_share_their_entry():
    codes = BoardCodes(GAME, merge_symmetric=True, bytes_per_entry=1)
    board = np.array([[[1, -1, 0], [0, 1, 0], [0, 0, -1]]])
    images = [np.rot90(b, k, (1, 2)) for b in (board, board[:, ::-1]) for k in range(4)]
    numbers = [codes.of(image)[0][0] for image in images]
    assert len(set(numbers)) == 1
    plain = BoardCodes(GAME, merge_symmetric=False, bytes_per_entry=1)
    number, actions = plain.of(board)
    assert number == encode(board)
    assert actions[0].tolist() == list(range(9))


def test_tables_that_are_too_large_say_how_large():
    with pytest.raises(ValueError, match=r"4×4 with 18 values a cell takes .* GiB, and 1 GiB are"):
        QTable(SlidingGame(RULES_2048))
    QTable(SlidingGame(RULES_2048, (2, 3)))


def test_unusable_games_and_sides_are_named():
    with pytest.raises(ValueError, match=r"a value table plays TicTacToe-v0 only"):
        ValueTable(SlidingGame(RULES_2584, (2, 2)))
    with pytest.raises(ValueError, match="sequential is for the sliding games"):
        QTable(GAME, 0, QTableSettings(sequential=True))
    with pytest.raises(ValueError, match=r"tic-tac-toe has no side 'Z', only X, O"):
        QTable(GAME, sides=("Z",))
