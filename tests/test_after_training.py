"""What the training command says at its end, and which options its help shows."""

import re
import shlex

import numpy as np
import pytest
from commands import command

from baselines.evaluation.sampled import play
from baselines.registry import load_player, make_agent
from baselines.task import Task

SMALL = ("--env", "Tiles2048-v0", "--env-kwargs", '{"shape": [2, 2]}', "--games", "100")


def typed(*arguments):
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_training_ends_with_the_best_board_and_what_is_next(tmp_path):
    folder = tmp_path / "a run"
    out = typed("train", "qtable", *SMALL, "--out", folder)
    found = load_player(folder)
    games = play(found.agent, found.task.env, found.task.env_kwargs, 10, use="test")
    best = int(games.returns.argmax())
    assert f"2048  score {games.returns[best]:.0f}\n" in out
    faces = [2**tile for tile in games.boards[best].ravel().tolist()]
    assert [int(face) for face in re.findall(r"\d+ (?=│)", out)] == faces
    following = [shlex.split(line, comments=True)[3:] for line in out.splitlines() if "#" in line]
    assert [words[0] for words in following] == ["watch", "evaluate", "plot"]
    assert following[1] == ["evaluate", str(folder), "--search", "2"]
    evaluated = typed(*following[1], "--episodes", 5)
    assert "qtable 2-ply on Tiles2048-v0" in evaluated


def test_training_in_tic_tac_toe_ends_with_what_is_next_alone(tmp_path):
    folder = tmp_path / "run"
    arguments = ("--preset", "published", "--games", 10, "--out", folder)
    out = typed("train", "value_table", *arguments)
    assert "ended here" not in out
    assert f"python -m baselines evaluate {folder}  " in out


def test_the_last_boards_are_those_of_finished_games():
    games = play(make_agent("greedy", Task.of("Tiles2048-v0").game), "Tiles2048-v0", episodes=20)
    assert games.boards.shape == (20, 4, 4)
    assert games.boards.all()  # no cell is empty where no move is left
    assert np.array_equal(2 ** games.boards.max(axis=(1, 2)).astype(np.int64), games.tiles)


@pytest.mark.parametrize(("env", "shown"), [("Tiles2048-v0", False), ("TicTacToe-v0", True)])
def test_help_shows_sides_where_there_are_some(env, shown):
    out = typed("train", "qtable", "--env", env, "--help")
    for option in ("--side", "--opponent", "--loss-weight"):
        assert (option in out) == shown
    assert "--learning-rate " in out
    assert "--env-kwargs" in out
