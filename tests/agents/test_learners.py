"""All learners: what a seed decides, starts, memory; tables and small networks: what they learn."""

from types import SimpleNamespace

import numpy as np
import powers3
import psutil
import pytest
import torch
from same import TIMES, equal
from small import DQN, PPO

from baselines import evaluate, evaluate_exactly, train
from baselines.deep.dqn import DQNLearner
from baselines.deep.neural import Neural
from baselines.deep.ppo import PPOLearner
from baselines.evaluation.policies import against, policy_of
from baselines.ntuple.ntuple import NTuple
from baselines.settings import free_memory
from baselines.tabular.boards import BoardCodes, move_entries
from baselines.tabular.qtable import QTable
from baselines.tabular.value_table import ValueTable
from baselines.training.episodes import Episodes
from baselines.training.learner import learner_class
from baselines.training.run import config_for
from baselines.training.run_folder import Run, read_progress
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.tictactoe import TicTacToe

TICTACTOE, SLIDING = TicTacToe(), SlidingGame(RULES_2048)
SQUARE, SMALL = SlidingGame(RULES_2048, (2, 2)), SlidingGame(RULES_2048, (2, 3))
COLUMN, ROW = SlidingGame(RULES_2584, (5, 1)), SlidingGame(powers3.RULES, (1, 5))
SIDES = TICTACTOE.sides
CNN, TUPLES = {"network": "cnn"}, {"network": "0123 4567"}
COHERENT = TUPLES | {"method": "tc", "direction": "backward", "trace_decay": 0.5, "restart": 0.5}
STAGES = {"stages": (512,), "stage_games": 200, "late_stages": (768,), "late_games": 200}


def tuned(kind, preset=None, **changes):
    """Return the settings of a preset for tic-tac-toe, changed."""
    names = {QTable: "qtable", ValueTable: "value_table", Neural: "neural"}
    return config_for(names[kind], "TicTacToe-v0", preset=preset, **changes).settings


CASES = [
    (QTable, TICTACTOE, tuned(QTable)),
    (QTable, SlidingGame(RULES_2048, (1, 4)), tuned(QTable, n_envs=50)),
    (ValueTable, TICTACTOE, tuned(ValueTable)),
    (Neural, TICTACTOE, tuned(Neural, n_envs=200, hidden=16, n_epochs=5, buffer_size=2000)),
    (NTuple, SLIDING, TUPLES),
    (NTuple, SLIDING, COHERENT | STAGES),
    (DQNLearner, TICTACTOE, DQN | CNN),
    (DQNLearner, SMALL, DQN | {"n_steps": 2}),
    (DQNLearner, ROW, DQN | CNN),
    (PPOLearner, TICTACTOE, PPO),
    (PPOLearner, COLUMN, PPO | CNN),
]
EACH = [*{case[0]: case for case in reversed(CASES)}.values()]
"""A case of each kind."""


def learned(learner):
    return {name: value for name, value in learner.learn().items() if name not in TIMES}


@pytest.mark.parametrize(
    ("kind", "game", "settings", "sides"),
    [(*case, case[1].sides) for case in CASES]
    + [(*case, ("O",)) for case in EACH if case[1] is TICTACTOE],
)
def test_seed_and_iterations_decide_what_is_learned(kind, game, settings, sides):
    whole, again, same, other = (
        kind(game, seed, kind.Settings(**settings), sides) for seed in (0, 0, 0, 1)
    )
    drawn = torch.random.get_rng_state(), np.random.get_state()[2]  # noqa: NPY002
    for _ in range(3):
        whole.learn()
    assert torch.equal(torch.random.get_rng_state(), drawn[0])
    assert np.random.get_state()[2] == drawn[1]  # noqa: NPY002
    again.restore({name: array.copy() for name, array in whole.state_dict().items()})
    assert equal(whole, again)
    for _ in range(3):
        assert learned(whole) == learned(again)
    assert equal(whole, again)
    assert whole.games == again.games > 0
    if hasattr(whole, "model"):
        assert whole.model._n_updates > 0
    torch.rand(3), np.random.random(3)  # noqa: NPY002 # what others draw does not matter
    for _ in range(6):
        same.learn(), other.learn()
    assert equal(whole, same)
    assert not equal(whole, other)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("ntuple", {"network": "0123 12"}), ("qtable", {"sequential": True}), ("dqn", DQN)],
)
def test_runs_learn_from_listed_boards_and_are_judged_without_them(name, settings, tmp_path):
    np.save(tmp_path / "starts.npy", [[[10, 10], [1, 2]]])  # no other game gets to 2048 points
    options = {"shape": [2, 2], "starts": str(tmp_path / "starts.npy"), "start_fraction": 1.0}
    train(name, "Tiles2048-v0", options, games=20, out=tmp_path / "run", **settings)
    (tmp_path / "starts.npy").unlink()
    assert Run.read(tmp_path / "run").config.env_kwargs == options
    rows = read_progress(tmp_path / "run")
    assert max(float(row["return"] or 0) for row in rows) > 2048 > float(rows[-1]["greedy_return"])
    assert evaluate(tmp_path / "run", episodes=9)["max"] < 2048
    with pytest.raises(ValueError, match=r"starts must be .*starts\.npy"):
        train(name, resume=True, games=30, out=tmp_path / "run")


@pytest.mark.parametrize(("kind", "game", "settings"), EACH)
def test_every_use_of_a_seed_has_a_random_stream_of_its_own(kind, game, settings, monkeypatch):
    """Initial weights, games, exploration and minibatches: no generator starts where one did."""
    begun = []

    def note(module, name, start):
        original = getattr(module, name)

        def noting(*arguments):
            begun.append((name, start(*arguments)))
            return original(*arguments)

        monkeypatch.setattr(module, name, noting)

    note(np.random, "default_rng", lambda seed: tuple(np.random.PCG64(seed).random_raw(2)))
    note(np.random, "seed", int)
    note(torch, "manual_seed", int)
    learner = kind(game, 3, kind.Settings(**settings), game.sides)
    learner.learn(), learner.learn()
    assert len(set(begun)) == len(begun) > 1


def test_memory_is_checked_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=300 << 20))
    for kind, settings, named in (
        (DQNLearner, {"buffer_size": 20_000_000}, "buffer_size of at most [1-9]"),
        (DQNLearner, {"width": 4096}, "width of at most [1-9]"),
        (NTuple, {"network": "8x6"}, r"0\.3 GiB are free"),
    ):
        with pytest.raises(ValueError, match=named):
            kind(SLIDING, 0, kind.Settings(**settings))


def test_the_memory_of_a_container_is_what_its_group_allows(tmp_path, monkeypatch):
    monkeypatch.setattr("baselines.settings.CGROUP", tmp_path)
    texts = {"max": 900 << 20, "current": 600 << 20, "stat": "anon 7\ninactive_file 5242880"}
    for name, text in texts.items():
        (tmp_path / f"memory.{name}").write_text(f"{text}\n")
    assert free_memory() == 305 << 20
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 305 << 20


def trained(kind, settings, iterations=0, seed=0, sides=SIDES, game=TICTACTOE):
    learner = kind(game, seed, kind.Settings(**settings), sides)
    for _ in range(iterations):
        learner.learn()
    return learner


def test_seconds_of_learning_go_far():
    learner = trained(Neural, tuned(Neural, n_envs=3000), 6, seed=1)
    for side, win in zip(SIDES, (0.93, 0.83), strict=True):
        assert against(policy_of(learner, side), side).win > win


BEST = 0.994785, 0.916395
"""The most that a player wins who never loses, rounded down."""
WHOLE_RUNS = [
    (range(6), QTable, tuned(QTable), 300, BEST),
    (range(6), QTable, tuned(QTable, merge_symmetric=False), 500, BEST),
    (range(6), ValueTable, tuned(ValueTable), 300, BEST),
    (range(1), QTable, tuned(QTable, "published"), 7000, (0.931, 0.610)),
    (range(1), Neural, tuned(Neural, "published"), 2000, (0.984 - 0.01, 0.754 - 0.01)),
    (range(2), Neural, tuned(Neural), 80, (0.99, 0.9)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "kind", "settings", "iterations", "wins"),
    [(seed, *run) for seeds, *run in WHOLE_RUNS for seed in seeds],
)
def test_a_whole_run_wins_often_and_never_loses(seed, kind, settings, iterations, wins):
    learner = trained(kind, settings, iterations, seed)
    for side, win in zip(SIDES, wins, strict=True):
        results = against(policy_of(learner, side), side)
        assert results.win >= win
        assert results.worst == 0


@pytest.mark.parametrize(("kind", "loss_weight"), [(QTable, 10.0), (ValueTable, 1.0)])
def test_self_play_learns_to_draw_with_perfect_play(kind, loss_weight):
    learner = trained(kind, tuned(kind, opponent="self", loss_weight=loss_weight), 100)
    for side in SIDES:
        assert against(policy_of(learner, side), side).worst == 0


@pytest.mark.parametrize("env", ["Tiles2048-v0", "TicTacToe-v0"])
def test_tests_of_a_table_are_exact(env, tmp_path):
    options = {} if env == "TicTacToe-v0" else {"shape": [2, 2]}
    learner = train("qtable", env, options, games=1500, n_envs=100, out=tmp_path)
    row, last = evaluate_exactly(learner, env, options), read_progress(tmp_path)[-1]
    name, value = ("greedy_return", row["mean"]) if options else ("greedy_win_X", row["win"])
    assert float(last[name]) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("game", [SMALL, SlidingGame(RULES_2584, (2, 2))], ids=str)
def test_games_in_turn_teach_what_games_of_a_batch_of_one_do(game, backwards):
    settings = tuned(QTable, n_envs=1, epsilon=0.0, initial=100.0, backwards=backwards)
    batch, in_turn = (
        trained(QTable, settings | {"sequential": sequential}, sides=(), game=game)
        for sequential in (False, True)
    )
    for _ in range(50):
        assert batch.learn() == in_turn.learn()
    assert np.array_equal(batch.visits, in_turn.visits)
    assert np.allclose(in_turn.q, batch.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("epsilon", "shares"), [(0.0, [1, 0, 0]), (0.6, [0.6, 0.2, 0.2])])
def test_games_in_turn_explore_legal_actions_uniformly(epsilon, shares):
    """Up is illegal on the board, and right the best action on it."""
    settings = tuned(QTable, sequential=True, merge_symmetric=False, n_envs=50_000)
    settings |= {"epsilon": epsilon, "learning_rate": 1e-9}
    learner, board = trained(QTable, settings, sides=(), game=SQUARE), np.array([[[1, 1], [0, 0]]])
    (number,), _ = BoardCodes(SQUARE, merge_symmetric=False).of(board)
    learner.q[number, 1] = 1.0
    learner.learn()
    visits = learner.visits[number]
    assert visits[0] == 0
    assert visits[1:] / visits.sum() == pytest.approx(shares, abs=0.02)


def test_targets_of_one_batch_move_an_entry_one_after_the_other():
    values, visits = np.array([0.0, 1.0]), np.zeros(2, np.int64)
    move_entries(values, visits, np.array([1, 1]), np.array([2.0, 4.0]), rate=0.5, decay=0.0)
    assert values.tolist() == [0.0, 1.0 + 0.75 * (3.0 - 1.0)]


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
    learner = trained(QTable, settings, sides=("X",))
    for action, reward in ((2, 1.0), (8, -1.0)):
        learner.learn_from(episode([BOARD], [action], reward))
    assert learner.action_values(BOARD)[[2, 8]].tolist() == [0.5, -5.0]
    learner.learn_from(episode([BEFORE, BOARD], [1, 2], 1.0))
    assert learner.action_values(BOARD)[2] == 0.75
    assert learner.action_values(BEFORE)[1] == pytest.approx(0.375)
    assert (learner.games, learner.iterations) == (3, 3)  # not those of so many full iterations


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        (QTable, {}, [0, 0, 0, -4, 1]),  # before that, other moves are still worth 0
        (ValueTable, {}, [0, 0, 0, -4, 1]),
        (ValueTable, {"target": "result"}, [1, -4, 1, -4, 1]),
    ],
)
def test_a_loss_costs_its_weight_in_self_play(kind, changes, expected):
    """X wins with 0, 1, 2 against 3 and 4."""
    learner = trained(kind, tuned(kind, opponent="self", loss_weight=4.0, **changes))
    boards, actions = [np.zeros((3, 3), np.int8)], [0, 3, 1, 4, 2]
    for action in actions[:-1]:
        boards.append(-boards[-1])
        boards[-1].flat[action] = -1
    learner.learn_from(episode(boards, actions, 1.0))
    assert learner.action_values(np.array(boards))[range(5), actions].tolist() == expected


def test_a_network_is_fitted_to_the_mean_result_of_a_move():
    """X wins at once, and after another move loses twice and draws once."""
    settings = tuned(Neural, hidden=32, n_epochs=500, buffer_size=10, learning_rate=0.01)
    learner = trained(Neural, settings, seed=1, sides=("X",))
    for action, result in ((2, 1.0), (8, -1.0), (8, 0.0), (8, -1.0)):
        learner.learn_from(episode([BOARD], [action], result))
    values = learner.action_values(BOARD)
    assert values[[2, 8]] == pytest.approx([1, -20 / 3], abs=0.05)
    assert np.isneginf(values[[0, 1, 3, 4]]).all()
    # The best value of the next board is the target of the move before.
    learner.learn_from(episode([BEFORE, BOARD], [1, 2], 1.0))
    assert learner.action_values(BEFORE)[1] == pytest.approx(1, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "Tiles2584-v0"])
@pytest.mark.parametrize("agent", ["qtable", "ntuple"])
def test_the_small_presets_come_close_to_the_optimum(agent, env_id):
    config = config_for(agent, env_id, preset="small")
    learner = learner_class(agent).new(config)
    for games, least in ((100_000, 0.6), (config.games, 0.95)):
        while learner.games < games:
            learner.learn()
        assert evaluate_exactly(learner, env_id, {"shape": [2, 3]})["share"] > least
