"""The command line: its help, how it answers mistakes, and what training says at its end."""

import itertools
import re
import shlex
import sys

import numpy as np
import pytest
from commands import command, refused, typed

from baselines.evaluation.sampled import play
from baselines.registry import LEARNERS, load_player, make_agent
from baselines.task import Task

SMALL = ("--env", "Tiles2048-v0", "--env-kwargs", '{"shape": [2, 2]}', "--games", "100")


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
    assert following[1] == ["evaluate", str(folder), "--exact"]


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


@pytest.mark.parametrize(
    "words",
    [
        *((name,) for name in ("evaluate", "solve", "watch", "play", "record", "plot", "compare")),
        *(("train", name) for name in LEARNERS),
    ],
)
def test_help_is_easy_to_read(words):
    out = typed(*words, "--help")
    assert "None}" not in out
    assert "[[" not in out
    for line, following in itertools.pairwise(out.splitlines()):
        column = len(following) - len(following.lstrip())
        if column > 4 and re.search(r"  \S$", line[: column + 1]):
            word = following.split()[0]
            assert len(line.rstrip()) + len(word) >= 78, f"broken before {word}: {line}"


def test_help_shows_choices_defaults_and_presets():
    assert "train AGENT --help" in typed("train", "--help")
    assert "TicTacToe-v0: default, published" in typed("train", "qtable", "--help")
    out = typed("train", "ntuple", "--help")
    assert "--method {td,tc}" in out
    assert "--minutes FLOAT  The budget in minutes" in out
    assert "(default: 10)" in out
    assert "--stages INT ..." in out
    assert "--side {X,O,random,both}" in typed("evaluate", "--help")


def test_a_choice_that_there_is_not_is_answered_with_the_choices():
    message = refused("train", "qtable", "--opponent", "god")
    assert all(word in message for word in ("random", "minimax", "minimax_first", "self"))


AGENT = """
import numpy as np
from tile_envs.errors import UsageError
class Failing:
    def __init__(self, game{seed}):
        {made}
    def predict(self, boards):
        {predict}
"""
GOOD = {"seed": ", seed", "made": "...", "predict": "..."}


@pytest.fixture
def failing(tmp_path, monkeypatch):
    """Return what writes the module of an agent, with some of its words changed."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(changes):
        (tmp_path / "failing.py").write_text(AGENT.format(**GOOD | changes))

    yield write
    sys.modules.pop("failing", None)


FAILING = ("evaluate", "failing:Failing", "--episodes", 2)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"predict": "return np.zeros(3).reshape(2, 2)"}, "cannot reshape"),
        ({"made": "raise ValueError('oh')"}, "oh"),
        ({"made": "import nonexistent_thing"}, "No module named 'nonexistent_thing'"),
    ],
)
def test_a_fault_of_an_agent_keeps_its_traceback(changes, error, failing):
    failing(changes)
    with pytest.raises((ValueError, ImportError), match=error):
        command(*FAILING)


def test_a_mistake_of_an_agents_user_is_one_line(failing):
    failing({"predict": "raise UsageError('this agent needs larger boards')"})
    assert refused(*FAILING) == "error: this agent needs larger boards\n"
    with pytest.raises(ValueError, match="this agent needs larger boards"):
        command(*FAILING, "--traceback")


@pytest.mark.parametrize("answer", ["'left'", "0.5", "7"])
def test_actions_that_are_none_are_refused_by_all_who_ask_for_them(answer, failing, tmp_path):
    failing({"predict": f"return np.full(len(boards), {answer})"})
    agent, out = FAILING[1], tmp_path / "x.html"
    for words in (FAILING, ("record", agent, "--out", tmp_path), ("watch", agent, "--html", out)):
        assert refused(*words).startswith("error: actions must be ")


def test_the_arguments_of_an_agent_are_told(failing):
    failing({"seed": ""})
    message = "Failing takes game, and is given game, seed: too many positional arguments."
    assert message in refused(*FAILING)
