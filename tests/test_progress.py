"""The line of progress tells the truth, and no half of a word."""

import math
import re
import time

import numpy as np
import pytest

from baselines.line import fitting
from baselines.playing import Playing
from baselines.progress import Progress, in_text
from baselines.training.run_folder import Budget


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


def lines(text):
    return [line.strip() for line in re.split(r"[\r\n]", text) if line.strip()]


def test_a_budget_in_minutes_is_shown_in_per_cent_with_the_time_left(capsys):
    with Progress("n", Budget(1000, minutes=10), games=100, seconds=150) as progress:
        progress.learned(200, 300)
        progress.show({"mean": 38390.4, "loss": math.nan, "rare": 0.0, "share": 0.7213})
    line = "n: 50% of 10 minutes, learning, 5:00 left, 200 games, mean 38,390, share 0.721"
    shown = lines(capsys.readouterr().err)
    assert line in shown
    assert shown[-1] == line.replace("learning", "stopped")


def test_a_budget_in_games_is_shown_in_games(capsys):
    with Progress("n", Budget(1000), games=0, seconds=0) as progress:
        progress.learned(250, 10)
        progress.show({})
    assert "n: 25% of 1,000 games, learning, 0:30 left, 250 games" in capsys.readouterr().err


def test_the_line_is_drawn_again_while_nothing_is_told(capsys, monkeypatch):
    monkeypatch.setattr("baselines.line.REFRESH_SECONDS", 0.05)
    with Progress("n", Budget(1000, minutes=0.05), games=0, seconds=0):
        time.sleep(0.5)
    starting = re.findall(r"n: (\d+)% of 0.05 minutes, starting", capsys.readouterr().err)
    shares = [int(share) for share in starting]
    assert len(shares) >= 5
    assert shares == sorted(shares)
    assert 10 <= shares[-1] < 100


def test_the_first_iteration_says_what_it_does(capsys):
    with Progress("n", Budget(10), games=0, seconds=0) as progress:
        progress.show({})
    assert "starting (compiling on first use)" in capsys.readouterr().err


def test_tests_and_saving_are_shown_and_counted_apart(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("baselines.progress.time.monotonic", lambda: now[0])
    with Progress("n", Budget(10), games=5, seconds=30) as progress:
        progress.learned(5, 62)
        assert progress.beside() == ""
        with progress.phase("tests"):
            now[0] += 70
        with progress.phase("saving"):
            now[0] += 5
        with progress.phase("tests"):
            now[0] += 1
        assert progress.beside() == "learned 1:02; besides: tests 1:11, saving 0:05"
    assert "tests" in capsys.readouterr().err


def test_the_time_that_games_take_is_told_once_some_have_ended(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("baselines.playing.time.monotonic", lambda: now[0])
    lengths = np.random.default_rng(0).rayleigh(1000, 400)  # all are played side by side
    last = ""
    with Playing("n", 400) as line:
        for moves in range(1, 1500):
            now[0] += 0.1
            lasted = np.minimum(lengths, moves)
            ended = int((lengths < moves).sum())
            line.played(ended, int(lasted.sum()), float(lasted @ lasted))
            if ended in (9, 10) and f"{ended} of" not in last:
                line.draw()
                last = capsys.readouterr().err
                assert f"n: {ended} of 400 games, " in last
                assert ("left" in last) == (ended == 10)
                if ended == 10:  # so early that few are known to be short
                    minutes, seconds = map(int, re.findall(r"about (\d):(\d\d) left", last)[-1])
                    left = (lengths.sum() - lasted.sum()) / 400 * 0.1
                    assert 0.7 * left < 60 * minutes + seconds < 1.4 * left
    assert "10 of" in last


@pytest.mark.parametrize("width", range(20, 100, 7))
def test_no_part_is_cut(width):
    parts = ["runs/2048: 10%", "learning", "0:30 left", *in_text({"mean": 1234.5, "loss": 1e-7})]
    line = fitting(parts, width)
    assert line.split(", ")[0] == parts[0]
    assert parts[: line.count(", ") + 1] == fitting(parts, 1000).split(", ")[: line.count(", ") + 1]
    assert len(line) <= max(width, len(parts[0]))
