"""The progress of training: lines now and then, its phases, and curves of runs."""

import re

import numpy as np
from commands import refused, typed
from PIL import Image

from baselines import evaluate
from baselines.evaluation.rows import write_rows
from baselines.progress import Progress
from baselines.training.config import RunConfig
from baselines.training.run_folder import Run
from baselines.viewing.curves import bands_of, read_curve


def test_in_a_file_it_is_a_line_now_and_then_with_the_time_that_is_left(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr("baselines.progress.time.perf_counter", lambda: now[0])
    with Progress("n", 10, done=2, shown=True) as progress, progress.phase("training"):
        for done in (3, 4, 5, 6):
            now[0] += 6
            progress.update(done, f"mean {done}")
    lines = capsys.readouterr().err.splitlines()
    told = [re.findall(r"\d+%|\d:\d\d|mean \d", line) for line in lines]
    assert told[:2] == [["30%", "0:42", "mean 3"], ["50%", "0:30", "mean 5"]]
    assert progress.seconds == {"training": 24, "compiling": 0}


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
    played = range(10, games + 1, 10)
    rows = [{"games": n, "seconds": n, "return": 10.0 * n + shift} for n in played]
    write_rows(rows, folder / "progress.csv")
    return folder


def bands(folders):
    return bands_of([read_curve(folder, "games", "return") for folder in folders])


def test_seeds_are_one_band_as_far_as_two_go_and_what_differs_else_is_a_line(tmp_path):
    sizes = enumerate((100, 50, 1500))
    folders = [run(tmp_path / f"s{n}", n, 100.0 * n, games) for n, games in sizes]
    band, other = bands([*folders, run(tmp_path / "other", learning_rate=0.1)])
    expected = ["ntuple, learning_rate 1.0, 3 seeds", "ntuple, learning_rate 0.1"]
    assert [band.label, other.label] == expected
    assert band.xs.tolist() == list(range(10, 101, 10))
    assert np.allclose((band.mean - 10 * band.xs)[:5], 100)
    assert np.allclose(band.high - band.low, 200)
    assert np.array_equal(other.low, other.high)
    assert len(bands([*folders, run(tmp_path / "again")])) == 4  # none is a seed


def test_runs_are_drawn_by_a_metric_that_all_have_and_other_folders_are_left_out(tmp_path):
    one, other, third = (run(tmp_path / name, seed) for seed, name in enumerate("abc"))
    for folder, metric in ((other, "return"), (third, "score")):
        rows = [{"games": n, "seconds": 1, metric: 1} for n in range(9)]
        write_rows(rows, folder / "progress.csv")
    assert f"{third} has score" in refused("plot", one, third, "--out", tmp_path / "y.svg")
    typed("plot", tmp_path, one, other, "--out", tmp_path / "x.png")  # such as runs/*
    with Image.open(tmp_path / "x.png") as picture:
        assert picture.size[0] > 600
