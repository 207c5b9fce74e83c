"""Learning curves of runs, and comparisons of their agents."""

from dataclasses import replace

import numpy as np
from commands import refused, typed
from PIL import Image

from baselines.evaluation.rows import read_rows, write_rows
from baselines.training.config import RunConfig
from baselines.training.run_folder import Run
from baselines.viewing.curves import bands_of, read_curve


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


def test_a_curve_is_what_the_progress_says(tmp_path):
    curve = read_curve(run(tmp_path / "a"), "minutes", "greedy_return")
    assert np.allclose(curve.xs, np.arange(20, 101, 20) / 120)
    assert np.allclose(curve.ys, np.arange(20, 101, 20) * 20)


def test_seeds_are_one_band_and_what_differs_else_is_a_line_with_its_label(tmp_path):
    folders = [run(tmp_path / f"s{seed}", seed, 10.0 * seed) for seed in range(3)]
    found = curves([*folders, run(tmp_path / "other", learning_rate=0.1)])
    bands = bands_of(found)
    assert labels(bands) == ["learning_rate 1.0, 3 seeds", "learning_rate 0.1"]
    assert np.allclose(bands[0].mean, 10 * bands[0].xs + 10)
    assert np.allclose(bands[0].high - bands[0].low, 20)
    small = replace(found[0].config, env_kwargs={"shape": [2, 3]})
    assert labels(bands_of([found[0], found[0]._replace(config=small)]))[1] == "shape [2, 3]"


def test_a_band_goes_as_far_as_two_seeds_do(tmp_path):
    folders = [run(tmp_path / "long"), run(tmp_path / "short", seed=1, shift=100.0, games=50)]
    path = folders[1] / "progress.csv"
    write_rows(read_rows(path)[::2], path)
    folders.append(run(tmp_path / "longer", seed=2, shift=200.0, games=1500))
    (band,) = bands_of(curves(folders))
    assert band.xs.tolist() == list(range(10, 101, 10))
    assert np.allclose(band.mean - 10 * band.xs, 100)
    assert np.allclose(band.high - band.low, 200)
    bands = bands_of(curves([*folders, run(tmp_path / "again")]))
    assert len(bands) == 4  # equal runs are no seeds


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
