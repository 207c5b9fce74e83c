"""Progress: lines in a file now and then, and nothing unless asked for."""

import math
import re

import pytest

from baselines import evaluate
from baselines.progress import Progress, metrics_text


@pytest.fixture
def clock(monkeypatch):
    """A clock that is told the time."""
    now = [100.0]
    monkeypatch.setattr("baselines.progress.time.perf_counter", lambda: now[0])
    return now


def test_in_a_file_it_is_a_line_now_and_then_with_the_time_that_is_left(clock, capsys):
    with Progress("n", 10, done=2, shown=True) as progress, progress.phase("training"):
        for done in (3, 4, 5, 6):
            clock[0] += 6
            progress.update(done, f"mean {done}")
        progress.update(text="stopping", at_once=True)
        progress.update(9.99)
        progress.update(text="ending", at_once=True)
    lines = capsys.readouterr().err.splitlines()
    told = [re.findall(r"\d+%|\d:\d\d|mean \d|stopping|ending", line) for line in lines]
    assert told[:2] == [["30%", "0:42", "mean 3"], ["50%", "0:30", "mean 5"]]
    assert told[2:] == [["60%", "0:24", "stopping"], ["100%", "ending"]]
    assert all(line.startswith("n: ") and "training" in line for line in lines)


def test_the_seconds_of_phases_are_counted_apart(clock):
    with Progress("n") as progress:
        progress.seconds["training"] = 5.0
        for phase, seconds in (("training", 70), ("tests", 1), ("training", 2)):
            with progress.phase(phase):
                clock[0] += seconds
                assert phase in str(progress)
    assert progress.seconds == {"training": 77, "tests": 1, "compiling": 0}


def test_python_shows_none_unless_asked_and_never_what_is_inside_another(capsys, monkeypatch):
    monkeypatch.setattr(Progress, "enabled", False)  # which commands of other tests have set
    monkeypatch.setattr("baselines.progress.LINE_SECONDS", 0)
    with Progress("outer", shown=True):
        evaluate("random", "Tiles2048-v0", episodes=3)
    evaluate("random", "Tiles2048-v0", episodes=3)
    assert capsys.readouterr().err == ""
    evaluate("random", "Tiles2048-v0", episodes=3, progress=True)
    line = r"random on Tiles2048-v0: \d+%(, about \S+ left)?, \d of 3 games, \d+ moves"
    assert re.search(line, capsys.readouterr().err)
    with Progress("n", shown=True) as progress:  # of a size that is not known
        progress.update(5, "5 boards")
    assert capsys.readouterr().err == "n: 5 boards\n"


def test_metrics_without_a_value_are_left_out():
    metrics = {"mean": 38390.4, "loss": math.nan, "greedy_loss_O": 0.0}
    assert metrics_text(metrics) == "mean 38,390, greedy_loss_O 0"
