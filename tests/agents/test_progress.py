"""Progress: lines in a file, a bar in a terminal, nothing unless asked for."""

import math
import re

import pytest

from baselines import evaluate
from baselines.agents import RandomAgent, Task
from baselines.progress import Progress, metrics_text


@pytest.fixture
def clock(monkeypatch):
    """A clock that is told the time."""
    now = [100.0]
    monkeypatch.setattr("baselines.progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr("baselines.progress.time.perf_counter", lambda: now[0])
    return now


def test_in_a_file_it_is_a_line_now_and_then(clock, capsys):
    with Progress("n", 10, done=2, shown=True) as progress, progress.phase("training"):
        for done in (3, 4, 5, 6):
            clock[0] += 6
            progress.update(done, f"mean {done}")
        progress.update(text="stopping", at_once=True)
        progress.update(9.99)
        progress.update(text="ending", at_once=True)
    assert capsys.readouterr().err.splitlines() == [
        "n: 30%, about 0:42 left, training, mean 3",
        "n: 50%, about 0:30 left, training, mean 5",
        "n: 60%, about 0:24 left, training, stopping",
        "n: 100%, training, ending",
    ]


def test_work_of_unknown_size_shows_what_is_done(clock, capsys):
    with Progress("n", shown=True) as progress:
        clock[0] += 60
        progress.update(5, "5 boards")
    assert capsys.readouterr().err == "n: 5 boards\n"


def test_the_seconds_of_phases_are_counted_apart(clock):
    with Progress("n") as progress:
        progress.seconds["training"] = 5.0
        for phase, seconds in (("training", 70), ("tests", 1), ("training", 2)):
            with progress.phase(phase):
                clock[0] += seconds
                assert str(progress) == f"n: {phase}"
    assert progress.seconds == {"training": 77, "tests": 1, "compiling": 0}


def test_python_shows_none_unless_asked(capsys, monkeypatch):
    monkeypatch.setattr(Progress, "enabled", False)  # which commands of other tests have set
    monkeypatch.setattr("baselines.progress.LINE_SECONDS", 0)
    agent = RandomAgent(Task.of("Tiles2048-v0").game)
    evaluate(agent, "Tiles2048-v0", episodes=3)
    assert capsys.readouterr().err == ""
    evaluate(agent, "Tiles2048-v0", episodes=3, progress=True)
    line = r"RandomAgent on Tiles2048-v0: \d+%(, about \S+ left)?, \d of 3 games, \d+ moves"
    assert re.search(line, capsys.readouterr().err)


def test_what_is_inside_another_is_not_shown(capsys, monkeypatch):
    monkeypatch.setattr("baselines.progress.LINE_SECONDS", 0)
    with Progress("outer", shown=True), Progress("inner") as inner:
        inner.update(1, "lost")
    assert capsys.readouterr().err == ""


def test_metrics_without_a_value_are_left_out():
    metrics = {"mean": 38390.4, "loss": math.nan, "greedy_loss_O": 0.0}
    assert metrics_text(metrics) == "mean 38,390, greedy_loss_O 0"
