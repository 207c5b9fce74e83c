"""All learners: seed and number of iterations decide what is learned, also after restoring."""

from types import SimpleNamespace

import numpy as np
import powers3
import psutil
import pytest
import torch
from same import equal
from small import DQN, PPO

from baselines import evaluate, evaluate_exactly, train
from baselines.deep.dqn import DQNLearner
from baselines.deep.neural import Neural
from baselines.deep.ppo import PPOLearner
from baselines.ntuple.ntuple import NTuple
from baselines.settings import free_memory
from baselines.tabular.qtable import QTable
from baselines.tabular.value_table import ValueTable
from baselines.training.run import config_for
from baselines.training.run_folder import Run, read_progress
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.tictactoe import TicTacToe

TICTACTOE, SLIDING = TicTacToe(), SlidingGame(RULES_2048)
SHAPES = {RULES_2048: (2, 3), RULES_2584: (5, 1), powers3.RULES: (1, 5)}
GAMES = [TICTACTOE, *(SlidingGame(rules, shape) for rules, shape in SHAPES.items())]
TUPLES = {"network": "0123 4567"}
COHERENT = TUPLES | {"method": "tc", "direction": "backward", "restart": 1.0, "learning_rate": 1.0}
CNN = {"network": "cnn"}
TIMES = {"environment_share", "moves_per_second"}


def tuned(name, **changes):
    return config_for(name, "TicTacToe-v0", **changes).settings


CASES = [
    (QTable, TICTACTOE, tuned("qtable")),
    (ValueTable, TICTACTOE, tuned("value_table")),
    (Neural, TICTACTOE, {"n_envs": 200}),
    (Neural, TICTACTOE, tuned("neural", n_envs=200, hidden=16, n_epochs=5, buffer_size=2000)),
    (NTuple, SLIDING, TUPLES),
    (NTuple, SLIDING, COHERENT),
    (NTuple, SLIDING, COHERENT | {"trace_decay": 0.5, "stages": (512,), "stage_games": 200}),
    (NTuple, SLIDING, COHERENT | {"restart": 0.5, "late_stages": (512, 768), "late_games": 200}),
    (NTuple, SLIDING, COHERENT | {"half_games": 200}),
    *((DQNLearner, game, DQN | more) for game in GAMES for more in ({}, {"n_steps": 2}, CNN)),
    *((PPOLearner, game, PPO | more) for game in GAMES for more in ({}, CNN)),
]


def learned(learner):
    return {name: value for name, value in learner.learn().items() if name not in TIMES}


@pytest.mark.parametrize(
    ("kind", "game", "settings", "sides"),
    [(*case, sides) for case in CASES for sides in sorted({case[1].sides, case[1].sides[1:]})],
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
    [("ntuple", {"network": "0123"}), ("qtable", {"sequential": True}), ("dqn", DQN), ("ppo", PPO)],
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
    with pytest.raises(ValueError, match=r"starts must be .*starts\.npy: .*No such file"):
        train(name, resume=True, games=30, out=tmp_path / "run")
    with pytest.raises(ValueError, match="ordinary starts: leave out starts"):
        evaluate_exactly("random", "Tiles2048-v0", options)


@pytest.mark.parametrize(("name", "kind"), [("ntuple", NTuple), ("qtable", QTable)])
def test_an_initial_value_of_none_is_the_same_in_python_as_in_a_run(name, kind):
    board, game = np.array([[1, 2], [0, 0]]), SlidingGame(RULES_2048, (2, 2))
    learner = kind(game, 0, kind.Settings(initial=None))
    run = train(name, "Tiles2048-v0", {"shape": (2, 2)}, games=1, initial=None)
    assert learner.action_values(board).max() == run.config.settings["initial"] > 0


@pytest.mark.parametrize(("kind", "game", "settings"), {case[0]: case for case in CASES}.values())
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


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (DQNLearner, {"buffer_size": 20_000_000}, "buffer_size of at most [1-9]"),
        (DQNLearner, {"width": 4096}, "width of at most [1-9]"),
        (NTuple, {"network": "8x6"}, r"0\.3 GiB are free"),
    ],
)
def test_memory_is_checked_before_it_is_taken(kind, settings, message, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=300 << 20))
    with pytest.raises(ValueError, match=message):
        kind(SLIDING, 0, kind.Settings(**settings))


def test_the_memory_of_a_container_is_what_its_group_allows(tmp_path, monkeypatch):
    monkeypatch.setattr("baselines.settings.CGROUP", tmp_path)
    texts = {"max": 900 << 20, "current": 600 << 20, "stat": "anon 7\ninactive_file 5242880"}
    for name, text in texts.items():
        (tmp_path / f"memory.{name}").write_text(f"{text}\n")
    assert free_memory() == 305 << 20
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 305 << 20
