"""The command line: it does what Python does, bit for bit, and says what is next or mistaken."""

import io
import json
import re
import shlex
import sys
from contextlib import redirect_stdout
from importlib import import_module

import numpy as np
import pytest
from commands import command, refused, typed
from same import contents

import baselines
from baselines import evaluate, load, train
from baselines.__main__ import main
from baselines.evaluation.sampled import play
from baselines.players import open_player
from baselines.viewing.moves import exact_values
from tile_envs.base.checks import checked_count
from tile_envs.errors import UsageError
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.sliding.rules import ACTIONS
from tile_envs.text import read_board

SMALL = ("Tiles2048-v0", {"shape": [2, 2]})
DEEP = {"width": 4, "hidden": [8], "n_envs": 4, "learning_starts": 64, "batch_size": 32}


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    """Work in a folder in which nothing is left behind, without modules of other tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("baselines.training.config.IMPORTED", [])


def words_of(env, env_kwargs, **settings):
    """Return options as the command line has them."""
    for name, value in {"env": env, "env_kwargs": json.dumps(env_kwargs), **settings}.items():
        yield f"--{name.replace('_', '-')}"
        yield from map(str, value if isinstance(value, list) else [value])


@pytest.mark.parametrize(
    ("name", "task", "settings"),
    [
        ("ntuple", SMALL, {"network": "012", "iteration_games": 10}),
        ("qtable", ("TicTacToe-v0", {}), {"preset": "published", "epsilon": 0.5, "side": "O"}),
        ("dqn", SMALL, DEEP | {"buffer_size": 500, "test_games": 2}),
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
        untimed = {"moves_per_second": 0}
        assert json.loads(json.dumps(row | untimed)) == expected | untimed
    assert evaluate(load("marks"), "TicTacToe-v0", episodes=5, side="O")["side"] == "O"


def test_the_package_lists_what_can_be_used():
    assert dir(baselines) == sorted(baselines.__all__)
    for name in baselines.__all__:
        assert getattr(baselines, name).__name__ == name


def test_training_ends_with_the_best_board_and_what_is_next(tmp_path):
    folder = tmp_path / "a run"
    out = typed("train", "qtable", *words_of(*SMALL), "--games", 100, "--out", folder)
    found = open_player(folder)
    games = play(found.agent, found.task.env, found.task.env_kwargs, 10, use="test")
    assert games.boards.all()  # they have ended: no cell is empty where no move is left
    assert np.array_equal(2 ** games.boards.max(axis=(1, 2)).astype(np.int64), games.tiles)
    best = int(games.returns.argmax())
    assert f"2048  score {games.returns[best]:.0f}\n" in out
    faces = [2**tile for tile in games.boards[best].ravel().tolist()]
    assert [int(face) for face in re.findall(r"\d+ (?=│)", out)] == faces
    following = [shlex.split(line, comments=True)[3:] for line in out.splitlines() if "#" in line]
    assert [words[0] for words in following] == ["watch", "evaluate", "plot"]
    assert following[1] == ["evaluate", str(folder), "--exact"]
    assert typed(*following[0], "--html", "game.html")
    assert typed(*following[1])


def test_no_game_is_played_after_the_budget_that_was_not_asked_for(monkeypatch):
    played = []
    monkeypatch.setattr("baselines.commands.train.play", lambda *_, **how: played.append(how))
    words = ("train", "qtable", *words_of(*SMALL), "--games", 100)
    assert "Next:" in typed(*words, "--test-games", 0, "--out", "q")
    typed(*words, "--seeds", "None", "--out", "child")
    assert played == []


def test_help_tells_choices_defaults_and_presets_in_any_encoding(monkeypatch):
    assert "AGENT" in typed("train", "--help")
    monkeypatch.setattr(sys, "argv", ["baselines", "train", "ntuple", "--help"])
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with redirect_stdout(out), pytest.raises(SystemExit):
        main()
    out.seek(0)
    told = out.read()
    assert all(word in told for word in ("{td,tc}", "(default: 10)", "td, ", "of the ?-return"))
    assert "(default: )" not in told


class Failing:
    """An agent whose methods the tests replace."""

    def __init__(self, game, seed): ...

    def predict(self, boards): ...


FAILING = ("evaluate", "test_command_line:Failing", "--episodes", 2)


@pytest.mark.parametrize(
    ("method", "fail", "error"),
    [
        ("predict", lambda *_: np.zeros(3).reshape(2, 2), "cannot reshape"),
        ("__init__", lambda *_: int("oh"), "oh"),
        ("__init__", lambda *_: import_module("nonexistent"), "No module named 'nonexistent'"),
    ],
)
def test_a_fault_of_an_agent_keeps_its_traceback(method, fail, error, monkeypatch):
    monkeypatch.setattr(Failing, method, fail)
    with pytest.raises((ValueError, ImportError), match=error):
        command(*FAILING)


def test_a_mistake_of_an_agents_user_is_one_line(monkeypatch):
    monkeypatch.setattr(Failing, "predict", lambda *_: checked_count(0, "cells"))
    assert "cells must be" in refused(*FAILING)
    with pytest.raises(UsageError, match="cells must be"):
        command(*FAILING, "--traceback")
    monkeypatch.setattr(Failing, "__init__", lambda self, game: None)
    assert "Failing takes game, and is given game, seed" in refused(*FAILING)


def test_a_shape_is_an_option_of_the_environment(tmp_path):
    run = ("train", "qtable", "--out", "run", "--env", "Tiles2048-v0", "--shape", 2, 3, "--games")
    typed("evaluate", "greedy", "--shape", 2, 3, "--episodes", 2, "--out", "rows.json")
    typed(*run, 1000)
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert row["env_kwargs"] == config["env_kwargs"] == {"shape": [2, 3]}
    assert "small" in config["preset"]  # as known before the options are read
    typed(*run, 2000, "--resume")


@pytest.mark.parametrize(
    ("board", "best", "value"),
    [
        ("X X . / O O . / . . .", "2", 1.0),
        ("X X . / O O . / X . .", "5", 1.0),  # O is to move
        ("X O X / O . X / . X O", "4", 0.0),
        ("X X X / O O . / . . .", None, None),
    ],
)
def test_the_best_move_in_tic_tac_toe_is_that_of_the_side_to_move(board, best, value):
    for words in (("--agent", "minimax"), ("--env", "TicTacToe-v0")):
        told = json.loads(typed("best", "--board", board, *words, "--json"))
        assert (told["best"], told["values"].get(best)) == (best, value)


def test_the_best_move_is_exact_where_the_game_is_solved_quickly():
    game, text = SlidingGame(RULES_2048, (2, 3)), "2 4 8 / 0 2 2"
    values = exact_values(game)(read_board(game, text)[None])[0]
    told = json.loads(typed("best", "--json", "--board", text))
    assert told["best"] == ACTIONS[values.argmax()]
    assert [*told["values"].values()] == [None, *values[1:]]


def test_a_board_that_is_over_or_has_no_agent_is_named():
    for board in ("2 4 / 4 2", "2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2"):
        assert "The game is over" in typed("best", "--board", board)
    assert "3×5" in refused("best", "--board", "2 4 8 4 2 / 0 0 0 0 0 / 0 0 0 0 0")
