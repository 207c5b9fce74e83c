"""The progress of training: lines now and then, its phases, and curves of runs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from commands import refused, typed
from PIL import Image

from baselines import evaluate
from baselines.evaluation.rows import write_rows
from baselines.progress import Progress
from baselines.training.config import RunConfig
from baselines.training.run_folder import Run
from baselines.viewing.curves import bands_of, read_curve


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


def run(folder, seed=0, shift=0.0, games=100, **settings):
    """Write what a run leaves behind, as far as curves read it."""
    folder.mkdir(parents=True)
    rates = {"learning_rate": 1.0} | settings
    Run(RunConfig("ntuple", 3, "Tiles2048-v0", {}, (), rates, seed, games)).write(folder)
    rows = [{"games": n, "seconds": n / 2, "return": 10.0 * n} for n in range(10, games + 1, 10)]
    for row in rows:
        row["greedy_return"] = 2 * row["return"] + shift if row["games"] % 20 == 0 else ""
        row["return"] += shift
    write_rows(rows, folder / "progress.csv")
    return folder


def curves(folders):
    return [read_curve(folder, "games", "return") for folder in folders]


def labels(bands):
    return [band.label.removeprefix("ntuple, ") for band in bands]


def test_seeds_are_one_band_as_far_as_two_go_and_what_differs_else_is_a_line(tmp_path):
    sizes = enumerate((100, 50, 1500))
    folders = [run(tmp_path / f"s{n}", n, 100.0 * n, games) for n, games in sizes]
    found = curves([*folders, run(tmp_path / "other", learning_rate=0.1)])
    band, other = bands_of(found)
    assert labels([band, other]) == ["learning_rate 1.0, 3 seeds", "learning_rate 0.1"]
    assert band.xs.tolist() == list(range(10, 101, 10))
    assert np.allclose((band.mean - 10 * band.xs)[:5], 100)
    assert np.allclose(band.high - band.low, 200)
    assert np.array_equal(other.low, other.high)
    small = replace(found[0].config, env_kwargs={"shape": [2, 3]})
    assert labels(bands_of([found[0], found[0]._replace(config=small)]))[1] == "shape [2, 3]"
    assert len(bands_of(curves([*folders, run(tmp_path / "again")]))) == 4  # none is a seed


def test_runs_are_drawn_by_a_metric_that_all_have_and_other_folders_are_left_out(tmp_path):
    one, other, third = (run(tmp_path / name, seed) for seed, name in enumerate("abc"))
    for folder, metric in ((other, "return"), (third, "score")):
        rows = [{"games": n, "seconds": 1, metric: 1} for n in range(9)]
        write_rows(rows, folder / "progress.csv")
    line = refused("plot", one, other, third, "--out", tmp_path / "y.svg")
    assert f"{third} has score" in line
    typed("plot", tmp_path, one, other, "--out", tmp_path / "x.png")  # such as runs/*
    with Image.open(tmp_path / "x.png") as picture:
        assert picture.size[0] > 600
