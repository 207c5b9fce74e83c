"""The command line: its help, how it answers mistakes, and what training says at its end."""

import json
import re
import shlex
from importlib import import_module

import numpy as np
import pytest
from commands import command, refused, typed

from baselines.agents import Task
from baselines.evaluation.sampled import play
from baselines.players import make_agent, open_player
from baselines.viewing.moves import exact_values
from tile_envs.errors import UsageError
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.sliding.rules import ACTIONS
from tile_envs.text import read_board

SMALL = ("--env", "Tiles2048-v0", "--env-kwargs", '{"shape": [2, 2]}', "--games", "100")


def test_training_ends_with_the_best_board_and_what_is_next(tmp_path):
    folder = tmp_path / "a run"
    out = typed("train", "qtable", *SMALL, "--out", folder)
    found = open_player(folder)
    games = play(found.agent, found.task.env, found.task.env_kwargs, 10, use="test")
    best = int(games.returns.argmax())
    assert f"2048  score {games.returns[best]:.0f}\n" in out
    faces = [2**tile for tile in games.boards[best].ravel().tolist()]
    assert [int(face) for face in re.findall(r"\d+ (?=│)", out)] == faces
    following = [shlex.split(line, comments=True)[3:] for line in out.splitlines() if "#" in line]
    assert [words[0] for words in following] == ["watch", "evaluate", "plot"]
    assert following[1] == ["evaluate", str(folder), "--exact"]


def test_no_game_is_played_after_the_budget_that_was_not_asked_for(tmp_path, monkeypatch):
    played = []
    monkeypatch.setattr("baselines.commands.train.play", lambda *_, **how: played.append(how))
    out = typed("train", "qtable", *SMALL, "--test-games", 0, "--out", tmp_path / "q")
    assert "Next:" in out
    typed("train", "qtable", *SMALL, "--seeds", "None", "--out", tmp_path / "child")
    assert played == []


def test_the_last_boards_are_those_of_finished_games():
    games = play(make_agent("greedy", Task.of("Tiles2048-v0").game), "Tiles2048-v0", episodes=20)
    assert games.boards.shape == (20, 4, 4)
    assert games.boards.all()  # no cell is empty where no move is left
    assert np.array_equal(2 ** games.boards.max(axis=(1, 2)).astype(np.int64), games.tiles)


def test_help_shows_choices_defaults_and_presets():
    assert "AGENT" in typed("train", "--help")
    assert "published" in typed("train", "qtable", "--help")
    out = typed("train", "ntuple", "--help")
    assert all(words in out for words in ("--method {td,tc}", "(default: 10)", "--stages INT ..."))
    assert "(default: )" not in out


class Failing:
    """An agent whose methods the tests replace."""

    def __init__(self, game, seed): ...

    def predict(self, boards): ...


FAILING = ("evaluate", "test_after_training:Failing", "--episodes", 2)


def failing(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize(
    ("method", "function", "error"),
    [
        ("predict", lambda *_: np.zeros(3).reshape(2, 2), "cannot reshape"),
        ("__init__", failing(ValueError("oh")), "oh"),
        ("__init__", lambda *_: import_module("nonexistent"), "No module named 'nonexistent'"),
    ],
)
def test_a_fault_of_an_agent_keeps_its_traceback(method, function, error, monkeypatch):
    monkeypatch.setattr(Failing, method, function)
    with pytest.raises((ValueError, ImportError), match=error):
        command(*FAILING)


def test_a_mistake_of_an_agents_user_is_one_line(monkeypatch):
    mistake = UsageError("this agent needs larger boards")
    monkeypatch.setattr(Failing, "predict", failing(mistake))
    assert refused(*FAILING) == f"error: {mistake}\n"
    with pytest.raises(UsageError, match=str(mistake)):
        command(*FAILING, "--traceback")


def test_the_arguments_of_an_agent_are_told(monkeypatch):
    monkeypatch.setattr(Failing, "__init__", lambda self, game: None)
    assert "Failing takes game, and is given game, seed" in refused(*FAILING)


TWICE = ("--shape", 2, 3, "--env-kwargs", '{"shape": [2, 2]}')


@pytest.mark.parametrize(
    "words",
    [
        *("evaluate greedy", "compare greedy", "watch greedy", "grade x", "solve"),
        *("best --board 2", "play --hints optimal", "record greedy --out x"),
        "train qtable --env Tiles2048-v0",
    ],
)
def test_every_command_takes_a_shape_once(words):
    assert "give the shape once" in refused(*words.split(), *TWICE)
    assert "from 1 to 8" in refused(*words.split(), "--shape", 9, 9)


def test_a_shape_is_an_option_of_the_environment(tmp_path):
    run = ("train", "qtable", "--out", tmp_path / "run", *SMALL[:2], "--shape")
    typed("evaluate", "greedy", "--shape", 2, 3, "--episodes", 2, "--out", tmp_path / "rows.json")
    typed(*run, 2, 3, "--games", 1000)
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert row["env_kwargs"] == config["env_kwargs"] == {"shape": [2, 3]}
    assert "small" in config["preset"]  # as known before the options are read
    typed(*run, 2, 3, "--games", 2000, "--resume")
    assert "env_kwargs was {'shape': [2, 3]}" in refused(*run, 2, 2, "--resume")


def test_the_best_move_is_exact_where_the_game_is_solved_quickly():
    game, text = SlidingGame(RULES_2048, (2, 3)), "2 4 8 / 0 2 2"
    values = exact_values(game)(read_board(game, text)[None])[0]
    for shape in ((), ("--shape", 2, 3)):
        told = json.loads(typed("best", "--json", "--board", text, *shape))
        assert told["best"] == ACTIONS[values.argmax()]
        assert [*told["values"].values()] == [None, *values[1:]]


@pytest.mark.parametrize(
    ("board", "best", "value"),
    [
        ("X X . / O O . / . . .", "2", 1.0),
        ("X X . / O O . / X . .", "5", 1.0),  # O is to move
        ("X O X / O . X / . X O", "4", 0.0),
        ("X X X / O O . / . . .", None, None),
    ],
)
@pytest.mark.parametrize("words", [("--agent", "minimax"), ("--env", "TicTacToe-v0")])
def test_the_best_move_in_tic_tac_toe_is_that_of_the_side_to_move(board, best, value, words):
    told = json.loads(typed("best", "--board", board, *words, "--json"))
    assert (told["best"], told["values"].get(best)) == (best, value)


def test_a_board_that_is_over_or_has_no_agent_is_named():
    for board in ("2 4 / 4 2", "2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2"):
        assert "The game is over" in typed("best", "--board", board)
    assert "3×5" in refused("best", "--board", "2 4 8 4 2 / 0 0 0 0 0 / 0 0 0 0 0")
