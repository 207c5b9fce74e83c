"""Training and evaluation from Python: what the command line does, bit for bit."""

import json

import numpy as np
import pytest
from commands import typed
from test_runs import contents

import baselines
from baselines import evaluate, load, train

SMALL = ("Tiles2048-v0", {"shape": [2, 2]})
DEEP = {"width": 4, "hidden": [8], "n_envs": 4, "learning_starts": 64, "batch_size": 32}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Work in a folder in which nothing is left behind, without modules of other tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("baselines.training.config.IMPORTED", [])


def words_of(settings):
    """Return settings as the command line has them."""
    for name, value in settings.items():
        yield f"--{name.replace('_', '-')}"
        yield from map(str, value if isinstance(value, list) else [value])


@pytest.mark.parametrize(
    ("name", "task", "settings"),
    [
        ("ntuple", SMALL, {"network": "012", "iteration_games": 10}),
        ("qtable", ("TicTacToe-v0", {}), {"preset": "published", "epsilon": 0.5, "side": "O"}),
        ("dqn", SMALL, DEEP | {"buffer_size": 500}),
    ],
)
def test_python_trains_what_the_command_line_trains(tmp_path, capfd, name, task, settings):
    env, env_kwargs = task
    agent = train(name, env, env_kwargs, games=60, seed=3, **settings)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())
    train(name, env, env_kwargs, games=60, seed=3, out="python", **settings)
    options = ("--env", env, "--env-kwargs", json.dumps(env_kwargs), *words_of(settings))
    command = ("train", name, *options, "--games", 60, "--seed", 3, "--out")
    typed(*command, "typed")
    files, config, _, arrays = contents(tmp_path / "typed")
    assert contents(tmp_path / "python")[:2] == (files, config)
    agent.save("saved")
    for folder in ("python", "saved"):
        assert contents(tmp_path / folder)[3] == arrays
    assert contents(tmp_path / "saved")[1] == config
    boards = np.zeros((1, 3, 3), np.int8) if config.config.sides else np.ones((1, 2, 2), np.uint8)
    assert load("saved").predict(boards)[0] == agent.predict(boards)[0]
    train(name, env, games=90, out="saved", resume=True)
    typed(*command, "typed", "--resume", "--games", 90)
    assert contents(tmp_path / "saved")[3] == contents(tmp_path / "typed")[3]


def test_python_evaluates_what_the_command_line_evaluates(tmp_path):
    tiles = train("qtable", *SMALL, games=500, out="tiles")
    train("qtable", games=500, out="marks", side="O")
    calls = {
        ("tiles", "--search", "2"): evaluate(tiles, *SMALL, 20, search=2, name="qtable 2-ply"),
        ("marks",): evaluate("marks", episodes=20),
        ("minimax", "--side", "O"): evaluate("minimax", "TicTacToe-v0", episodes=20, side="O"),
    }
    for words, row in calls.items():
        typed("evaluate", *words, "--episodes", 20, "--out", "rows.json")
        (expected,) = json.loads((tmp_path / "rows.json").read_text())
        row = json.loads(json.dumps(row))
        assert row | {"moves_per_second": 0} == expected | {"moves_per_second": 0}
    agent = load("marks")
    assert evaluate(agent, "TicTacToe-v0", episodes=5, side="O")["side"] == "O"
    for arguments in ((agent, "TicTacToe-v0", {"side": "X"}), ("marks", None, {"side": "X"})):
        with pytest.raises(ValueError, match="'O', and in env_kwargs 'X'"):
            evaluate(*arguments, side="O")


def test_the_package_lists_what_can_be_used():
    assert dir(baselines) == sorted(baselines.__all__)
    for name in baselines.__all__:
        assert getattr(baselines, name).__name__ == name
