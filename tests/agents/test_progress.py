"""Progress: lines in a file now and then, and nothing unless asked for."""

import re

import pytest

from baselines import evaluate
from baselines.progress import Progress


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
    lines = capsys.readouterr().err.splitlines()
    told = [re.findall(r"\d+%|\d:\d\d|mean \d|training", line) for line in lines]
    assert told[0] == ["30%", "0:42", "training", "mean 3"]
    assert told[1] == ["50%", "0:30", "training", "mean 5"]


def test_the_seconds_of_phases_are_counted_apart(clock):
    with Progress("n") as progress:
        for phase, seconds in (("training", 70), ("tests", 1), ("training", 2)):
            with progress.phase(phase):
                clock[0] += seconds
    assert progress.seconds == {"training": 72, "tests": 1, "compiling": 0}


def test_python_shows_none_unless_asked_and_never_what_is_inside_another(capsys, monkeypatch):
    monkeypatch.setattr(Progress, "enabled", False)  # which commands of other tests have set
    monkeypatch.setattr("baselines.progress.LINE_SECONDS", 0)
    with Progress("outer", shown=True):
        evaluate("random", "Tiles2048-v0", episodes=3)
    evaluate("random", "Tiles2048-v0", episodes=3)
    assert capsys.readouterr().err == ""
    evaluate("random", "Tiles2048-v0", episodes=3, progress=True)
    assert "of 3 games" in capsys.readouterr().err
