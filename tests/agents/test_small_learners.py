"""The learners of small games, tables and a small network: recipes, exact optimum, by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from commands import typed

from baselines import load
from baselines.deep.neural import Neural
from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.policies import against, policy_of
from baselines.tabular.boards import BoardCodes, from_opponent, move_entries
from baselines.tabular.qtable import QTable
from baselines.tabular.value_table import ValueTable
from baselines.training.episodes import Episodes
from baselines.training.learner import learner_class
from baselines.training.run import config_for
from baselines.training.run_folder import read_progress
from benchmarks.article import RingBuffer
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import encode

GAME, SIDES = TicTacToe(), ("X", "O")
NAMES = {QTable: "qtable", ValueTable: "value_table", Neural: "neural"}
TABLES = [QTable, ValueTable]
BEST = {"X": (99.479, 0.521, 0.0), "O": (91.640, 8.360, 0.0)}


def tuned(learner, **changes):
    """Return the settings of the default preset for tic-tac-toe, changed."""
    return learner.Settings(**config_for(NAMES[learner], "TicTacToe-v0", **changes).settings)


def trained(learner, settings, iterations, seed=0, sides=SIDES, game=GAME):
    made = learner(game, seed, settings, sides)
    for _ in range(iterations):
        made.learn()
    return made


@pytest.mark.parametrize(
    ("learner", "settings", "iterations", "wins"),
    [
        *((table, tuned(table), 40, (0.95, 0.85)) for table in TABLES),
        (QTable, tuned(QTable, backwards=False), 60, (0.9, 0.0)),  # one-step Q-learning
        (Neural, tuned(Neural, n_envs=3000), 6, (0.93, 0.83)),
        (Neural, Neural.Settings(epsilon=0.5), 40, (0.7, 0.4)),  # the published recipe
    ],
)
def test_seconds_of_learning_go_far(learner, settings, iterations, wins):
    made = trained(learner, settings, iterations, seed=1)
    for side, win in zip(SIDES, wins, strict=True):
        assert against(policy_of(made, side), side).win > win


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("learner", "changes", "iterations"),
    [(QTable, {}, 300), (QTable, {"merge_symmetric": False}, 500), (ValueTable, {}, 300)],
)
def test_the_default_run_plays_the_best_that_never_loses(learner, changes, iterations, seed):
    made = trained(learner, tuned(learner, **changes), iterations, seed)
    for side, percent in BEST.items():
        results = against(policy_of(made, side), side)
        assert [100 * share for share in results] == pytest.approx(percent, abs=0.0005)
        assert results.worst == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "preset", "seed", "wins"),
    [
        (QTable, "published", 0, (0.931, 0.610)),
        (Neural, "published", 0, (0.984 - 0.01, 0.754 - 0.01)),
        (Neural, None, 0, (0.99, 0.9)),
        (Neural, None, 1, (0.99, 0.9)),
    ],
)
def test_a_whole_run_wins_often_and_never_loses(learner, preset, seed, wins):
    config = config_for(NAMES[learner], "TicTacToe-v0", preset=preset)
    settings = learner.Settings(**config.settings)
    made = trained(learner, settings, config.games // settings.n_envs, seed)
    for side, win in zip(SIDES, wins, strict=True):
        results = against(policy_of(made, side), side)
        assert results.win >= win
        assert results.worst == 0


@pytest.mark.parametrize("loss_weight", [1.0, 10.0])
@pytest.mark.parametrize("learner", TABLES)
def test_self_play_learns_to_draw_with_perfect_play(learner, loss_weight):
    made = trained(learner, tuned(learner, opponent="self", loss_weight=loss_weight), 100)
    for side in SIDES:
        assert against(policy_of(made, side), side).worst == 0


def test_a_q_table_that_starts_high_tries_every_move():
    game = SlidingGame(RULES_2048, shape=(2, 2))
    settings = tuned(QTable, learning_rate_decay=0.6, epsilon=0.0, n_envs=100)
    for initial, least, most in ((0.0, 0, 0.9), (100.0, 0.98, 1)):
        made = trained(QTable, replace(settings, initial=initial), 40, sides=(), game=game)
        share = evaluate_exactly(made, "Tiles2048-v0", {"shape": (2, 2)})["share"]
        assert least < share < most


@pytest.mark.parametrize("env", ["Tiles2048-v0", "TicTacToe-v0"])
def test_tests_of_a_table_are_exact(env, tmp_path):
    options = {} if env == "TicTacToe-v0" else {"shape": [2, 2]}
    training = ("--env-kwargs", json.dumps(options), "--games", 1500, "--n-envs", 100)
    typed("train", "qtable", "--env", env, *training, "--out", tmp_path)
    last = read_progress(tmp_path)[-1]
    row = evaluate_exactly(load(tmp_path), env, options)
    name, value = ("greedy_return", row["mean"]) if options else ("greedy_win_X", row["win"])
    assert float(last[name]) == pytest.approx(value, abs=1e-8)


def test_a_table_learns_on_a_single_row_where_nothing_is_exact():
    game = SlidingGame(RULES_2048, (1, 4))
    learner = trained(QTable, tuned(QTable, n_envs=50), 20, sides=(), game=game)
    boards = np.array([[[1, 1, 0, 2]], [[0, 0, 1, 1]]], np.uint8)
    np.testing.assert_array_equal(np.isfinite(learner.action_values(boards)), [[0, 1, 0, 1]] * 2)


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


BOARD = np.array([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], np.int8)
"""X to move can set its third mark."""
BEFORE = np.array([[1, 0, 0], [-1, 0, 0], [0, 0, 0]], np.int8)


def episode(boards, actions, result):
    """Return one game that X has played on these boards."""
    rewards = [*[0.0] * (len(boards) - 1), result]
    columns = (np.array(values)[:, None] for values in (boards, actions, rewards))
    return Episodes(*columns, np.ones((len(boards), 1), np.bool_))


def test_q_learning_by_hand():
    """Two games that end at once: X sets its third mark, and X loses to the answer."""
    settings = tuned(QTable, learning_rate=0.5, learning_rate_decay=0.0, epsilon=0.0)
    made = QTable(GAME, 0, settings, ("X",))
    for action, reward in ((2, 1.0), (8, -1.0)):
        made.learn_from(episode([BOARD], [action], reward))
    values = made.action_values(BOARD)
    assert (values[2], values[8]) == (0.5, -5.0)
    made.learn_from(episode([BEFORE, BOARD], [1, 2], 1.0))
    assert made.action_values(BOARD)[2] == 0.75
    assert made.action_values(BEFORE)[1] == pytest.approx(0.375)
    assert (made.games, made.iterations) == (3, 3)  # not those of so many full iterations


@pytest.mark.parametrize(
    ("learner", "changes", "expected"),
    [
        (QTable, {}, [0, 0, 0, -4, 1]),  # before that, other moves are still worth 0
        (ValueTable, {}, [0, 0, 0, -4, 1]),
        (ValueTable, {"target": "result"}, [1, -4, 1, -4, 1]),
    ],
)
def test_a_loss_costs_its_weight_in_self_play(learner, changes, expected):
    """X wins with 0, 1, 2 against 3 and 4."""
    made = learner(GAME, 0, tuned(learner, opponent="self", loss_weight=4.0, **changes))
    boards, actions = [np.zeros((3, 3), np.int8)], [0, 3, 1, 4, 2]
    for action in actions[:-1]:
        boards.append(-boards[-1])
        boards[-1].flat[action] = -1
    made.learn_from(episode(boards, actions, 1.0))
    assert [made.action_values(b)[a] for b, a in zip(boards, actions, strict=True)] == expected


@pytest.mark.parametrize(("loss_weight", "draw"), [(1.0, 0.0), (4.0, 0.5), (10.0, -2.0)])
def test_values_are_turned_from_one_player_to_the_other_and_back(loss_weight, draw):
    results = from_opponent(np.array([-loss_weight, draw, 1.0]), loss_weight, draw)
    assert results.tolist() == [1.0, draw, -loss_weight]
    values = np.linspace(-loss_weight, 1.0, 9)
    assert from_opponent(
        from_opponent(values, loss_weight, draw), loss_weight, draw
    ) == pytest.approx(values)


def test_a_network_is_fitted_to_the_mean_result_of_a_move():
    """X wins at once, and after another move loses twice and draws once."""
    settings = tuned(Neural, hidden=32, n_epochs=500, buffer_size=10, learning_rate=0.01)
    made = Neural(GAME, 1, settings, ("X",))
    for action, result in ((2, 1.0), (8, -1.0), (8, 0.0), (8, -1.0)):
        made.learn_from(episode([BOARD], [action], result))
    values = made.action_values(BOARD)
    assert values[[2, 8]] == pytest.approx([1, -20 / 3], abs=0.05)
    assert np.isneginf(values[[0, 1, 3, 4]]).all()
    # The best value of the next board is the target of the move before.
    made.learn_from(episode([BEFORE, BOARD], [1, 2], 1.0))
    assert made.action_values(BEFORE)[1] == pytest.approx(1, abs=0.05)


def test_a_network_is_taught_that_illegal_moves_lose():
    settings = Neural.Settings(batch_size=1, n_epochs=1000, learning_rate=1.0)
    made = Neural(GAME, 0, settings, ("X",))
    made.learn_from(episode([BOARD], [2], 1.0))
    network = made._players["X"]._network
    taught = network(torch.from_numpy(BOARD.reshape(1, 9).astype(np.float32)))[0].detach().numpy()
    assert taught[2] > 0.95
    assert (taught[[0, 1, 3, 4]] < 0.1).all()


SLIDING = ["Tiles2048-v0", "Tiles2584-v0"]


def share(agent, env_id, games=None):
    """Return the share of the optimum after as many games, by default those of the preset."""
    config = config_for(agent, env_id, preset="small")
    assert config.env_kwargs == {"shape": [2, 3]}
    learner = learner_class(agent).new(config)
    while learner.games < (games or config.games):
        learner.learn()
    return evaluate_exactly(learner, env_id, config.env_kwargs)["share"]


@pytest.mark.parametrize("env_id", SLIDING)
def test_a_small_q_table_soon_plays_well(env_id):
    assert share("qtable", env_id, 100_000) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("env_id", SLIDING)
@pytest.mark.parametrize("agent", ["qtable", "ntuple"])
def test_the_small_tables_come_close_to_the_optimum(agent, env_id):
    assert share(agent, env_id) > 0.95


def test_images_of_a_tictactoe_board_share_their_entry():
    codes = BoardCodes(GAME, merge_symmetric=True)
    board = np.array([[[1, -1, 0], [0, 1, 0], [0, 0, -1]]])
    images = [np.rot90(b, k, (1, 2)) for b in (board, board[:, ::-1]) for k in range(4)]
    numbers = [codes.of(image)[0][0] for image in images]
    assert len(set(numbers)) == 1
    plain = BoardCodes(GAME, merge_symmetric=False)
    number, actions = plain.of(board)
    assert number == encode(board)
    assert actions[0].tolist() == list(range(9))


def test_the_newest_transitions_replace_the_oldest():
    buffer = RingBuffer(5, rewards=(np.float32, ()), boards=(np.uint8, (2, 2)))
    for n in range(0, 12, 4):
        numbers = np.arange(n, n + 4)
        buffer.store(rewards=numbers, boards=np.tile(numbers[:, None, None], (2, 2)))
    assert (len(buffer), buffer.stored) == (5, 12)
    newest = buffer.take(np.arange(7, 12))
    assert newest["rewards"].tolist() == newest["boards"][:, 1, 0].tolist() == [7, 8, 9, 10, 11]
