"""Learning curves of runs, and comparisons of their agents."""

import shutil
from dataclasses import replace

import numpy as np
from commands import refused, typed
from PIL import Image

from baselines.evaluation.rows import read_rows, write_rows
from baselines.training.config import RunConfig
from baselines.training.run_folder import Run
from baselines.viewing.curves import bands_of, plot, read_curve


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


def drawn(curve, configs):
    return labels(bands_of([curve._replace(config=config) for config in configs]))


def test_a_curve_is_what_the_progress_says(tmp_path):
    curve = read_curve(run(tmp_path / "a"), "minutes", "greedy_return")
    assert np.allclose(curve.xs, np.arange(20, 101, 20) / 120)
    assert np.allclose(curve.ys, np.arange(20, 101, 20) * 20)


def test_seeds_are_one_band_and_what_differs_else_is_a_line_with_its_label(tmp_path):
    folders = [run(tmp_path / f"s{seed}", seed, 10.0 * seed) for seed in range(3)]
    bands = bands_of(curves([*folders, run(tmp_path / "other", learning_rate=0.1)]))
    assert labels(bands) == ["learning_rate 1.0, 3 seeds", "learning_rate 0.1"]
    assert np.allclose(bands[0].mean, 10 * bands[0].xs + 10)
    assert np.allclose(bands[0].high - bands[0].low, 20)
    assert np.array_equal(bands[1].low, bands[1].high)
    first, boards = curves(folders)[0], ({"shape": [2, 3]}, {}, {"shape": [3, 3]})
    versions = [replace(first.config, agent_version=version) for version in (3, 4)]
    on_boards = [replace(first.config, env_kwargs=board) for board in boards]
    shapes = [f"shape {shape}" for shape in ("[2, 3]", "default", "[3, 3]")]
    assert drawn(first, versions) == ["ntuple version 3", "ntuple version 4"]
    assert drawn(first, on_boards) == shapes


def test_a_band_goes_as_far_as_two_seeds_do(tmp_path):
    folders = [run(tmp_path / "long"), run(tmp_path / "short", seed=1, shift=100.0, games=50)]
    path = folders[1] / "progress.csv"
    write_rows(read_rows(path)[::2], path)
    folders.append(run(tmp_path / "longer", seed=2, shift=200.0, games=1500))
    (band,) = bands_of(curves(folders))
    assert band.label == "ntuple, 3 seeds"
    assert band.xs.tolist() == list(range(10, 101, 10))
    assert np.allclose(band.mean - 10 * band.xs, 100)
    assert np.allclose(band.high - band.low, 200)
    each = enumerate(curves(folders))
    apart = [curve._replace(xs=np.ones(1) * n, ys=np.ones(1)) for n, curve in each]
    assert len(bands_of(apart)) == 3  # they have no place in common


def test_equal_runs_are_no_seeds(tmp_path, capsys):
    folders = [run(tmp_path / name) for name in ("a", "b")]
    shutil.copytree(run(tmp_path / "c", seed=1, games=50), tmp_path / "copy")
    folders += [tmp_path / "c", tmp_path / "copy"]
    bands = bands_of(curves(folders))
    seeds = zip((0, 0, 1, 1), folders, strict=True)
    assert labels(bands) == [f"seed {seed}, {folder}" for seed, folder in seeds]
    assert "seeds come twice" in capsys.readouterr().err
    assert all(np.array_equal(band.low, band.high) for band in bands)
    assert [band.xs[-1] for band in bands] == [100, 100, 50, 50]


def test_runs_are_drawn_by_a_metric_that_all_have_and_other_folders_are_left_out(tmp_path):
    one, other, third = (run(tmp_path / name, seed) for seed, name in enumerate("abc"))
    for folder, names in ((other, ("return", "loss")), (third, ("score",))):
        rows = read_rows(folder / "progress.csv")
        kept = [{"games": row["games"], "seconds": 1, **dict.fromkeys(names, 1)} for row in rows]
        write_rows(kept, folder / "progress.csv")
    plot([tmp_path, one, other], tmp_path / "x.svg")  # such as runs/*
    assert b"<!-- return -->" in (tmp_path / "x.svg").read_bytes()
    line = refused("plot", one, other, third, "--out", tmp_path / "y.svg")
    for has in (f"{one} has return, greedy", f"{other} has return, loss", f"{third} has score"):
        assert has in line
    assert typed("plot", one, "--out", tmp_path / "x.png") == f"wrote {tmp_path / 'x.png'}\n"
    with Image.open(tmp_path / "x.png") as picture:
        assert picture.size[0] > 600
