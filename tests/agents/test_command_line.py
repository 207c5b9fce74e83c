"""The command line: it does what Python does, bit for bit, and tells mistakes from faults."""

import json

import numpy as np
import pytest
import small
from commands import command, refused, typed
from players import FirstLegal
from same import contents

from baselines import evaluate, load, train
from baselines.viewing.moves import exact_values
from tile_envs.base.checks import checked_count
from tile_envs.errors import UsageError
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.sliding.rules import ACTIONS
from tile_envs.text import read_board

SMALL = ("Tiles2048-v0", {"shape": [2, 2]})


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    """Work in a folder in which nothing is left behind, without modules of other tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("baselines.training.config.IMPORTED", [])


def words_of(env, env_kwargs, **settings):
    """Return options as the command line has them."""
    for name, value in {"env": env, "env_kwargs": json.dumps(env_kwargs), **settings}.items():
        yield f"--{name.replace('_', '-')}"
        yield from map(str, value if isinstance(value, list | tuple) else [value])


@pytest.mark.parametrize(
    ("name", "task", "settings"),
    [
        ("ntuple", SMALL, {"network": "012", "iteration_games": 10}),
        ("qtable", ("TicTacToe-v0", {}), {"preset": "published", "epsilon": 0.5, "side": "O"}),
        ("dqn", SMALL, small.DQN | {"test_games": 2}),
    ],
)
def test_python_trains_what_the_command_line_trains(tmp_path, capfd, name, task, settings):
    agent = train(name, *task, games=60, seed=3, **settings)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())
    train(name, *task, games=60, seed=3, out="python", **settings)
    words = ("train", name, *words_of(*task, **settings), "--seed", 3, "--out", "typed")
    typed(*words, "--games", 60)
    agent.save("saved")
    said = contents(tmp_path / "typed")
    assert contents(tmp_path / "python") == said
    saved = contents(tmp_path / "saved")
    assert saved == {file: said[file] for file in saved}
    boards = np.zeros((1, 3, 3), np.int8) if name == "qtable" else np.ones((1, 2, 2), np.int8)
    assert load("saved").predict(boards)[0] == agent.predict(boards)[0]
    train(name, task[0], games=90, out="saved", resume=True)
    typed(*words, "--games", 90, "--resume")
    resumed = (contents(tmp_path / folder)["checkpoint.npz"] for folder in ("saved", "typed"))
    assert next(resumed) == next(resumed) != said["checkpoint.npz"]


def test_python_evaluates_what_the_command_line_evaluates(tmp_path):
    tiles = train("qtable", *SMALL, games=500, out="tiles")
    train("qtable", games=500, out="marks", side="O")
    calls = {
        "tiles --search 2": evaluate(tiles, *SMALL, 20, search=2, name="qtable 2-ply"),
        "marks": evaluate("marks", episodes=20),
        "minimax --side O": evaluate("minimax", "TicTacToe-v0", episodes=20, side="O"),
    }
    for words, row in calls.items():
        typed("evaluate", *words.split(), "--episodes", 20, "--out", "rows.json")
        (expected,) = json.loads((tmp_path / "rows.json").read_text())
        row["moves_per_second"] = expected["moves_per_second"]
        assert json.loads(json.dumps(row)) == {name: expected[name] for name in row}


def test_a_fault_of_an_agent_keeps_its_traceback_and_a_mistake_of_its_user_is_one_line(monkeypatch):
    words = ("evaluate", "players:FirstLegal", "--episodes", 2)
    monkeypatch.setattr(FirstLegal, "predict", lambda *_: np.zeros(3).reshape(2, 2))
    with pytest.raises(ValueError, match="cannot reshape"):
        command(*words)
    monkeypatch.setattr(FirstLegal, "predict", lambda *_: checked_count(0, "cells"))
    assert "cells must be" in refused(*words)
    with pytest.raises(UsageError, match="cells must be"):
        command(*words, "--traceback")
    monkeypatch.setattr(FirstLegal, "__init__", lambda self, game: None)
    assert "FirstLegal takes game, and is given game, seed" in refused(*words)


def test_the_best_move_is_exact_where_the_game_is_solved_and_of_the_side_to_move():
    for board, best in (("X X . / O O . / . . .", "2"), ("X X . / O O . / X . .", "5")):
        told = json.loads(typed("best", "--board", board, "--env", "TicTacToe-v0", "--json"))
        assert (told["best"], told["values"][best]) == (best, 1.0)
    game, text = SlidingGame(RULES_2048, (2, 3)), "2 4 8 / 0 2 2"
    values = exact_values(game)(read_board(game, text)[None])[0]
    told = json.loads(typed("best", "--json", "--board", text))
    assert told["best"] == ACTIONS[values.argmax()]
    assert [*told["values"].values()] == [None, *values[1:]]
    assert "The game is over" in typed("best", "--board", "2 4 / 4 2")
    assert "3×5" in refused("best", "--board", "2 4 8 4 2 / 0 0 0 0 0 / 0 0 0 0 0")
