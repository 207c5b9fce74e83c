"""Learning curves of runs, and comparisons of their agents."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
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


def test_a_curve_is_what_the_progress_says(tmp_path):
    curve = read_curve(run(tmp_path / "a"), "minutes", "greedy_return")
    assert np.allclose(curve.xs, np.arange(20, 101, 20) / 120)
    assert np.allclose(curve.ys, np.arange(20, 101, 20) * 20)


def test_seeds_are_one_band_and_settings_are_lines_of_their_own(tmp_path):
    folders = [run(tmp_path / f"s{seed}", seed, 10.0 * seed) for seed in range(3)]
    folders.append(run(tmp_path / "other", learning_rate=0.1))
    bands = bands_of([read_curve(folder, "games", "return") for folder in folders])
    labels = ["learning_rate 1.0, 3 seeds", "learning_rate 0.1"]
    assert [band.label for band in bands] == [f"ntuple, {label}" for label in labels]
    newer = run(tmp_path / "newer", 3)
    config = replace(Run.read(newer).config, agent_version=4)
    Run(config).write(newer)
    apart = bands_of([read_curve(folder, "games", "return") for folder in (newer, folders[0])])
    assert [band.label for band in apart] == [f"ntuple, ntuple version {n}" for n in (4, 3)]
    assert np.allclose(bands[0].mean, 10 * bands[0].xs + 10)
    assert np.allclose(bands[0].high - bands[0].low, 20)
    assert np.array_equal(bands[1].low, bands[1].high)


def test_a_band_goes_as_far_as_two_seeds_do_and_says_that_budgets_differ(tmp_path):
    folders = [run(tmp_path / "long"), run(tmp_path / "short", seed=1, shift=100.0, games=50)]
    path = folders[1] / "progress.csv"
    write_rows(read_rows(path)[::2], path)
    folders.append(run(tmp_path / "longer", seed=2, shift=200.0, games=1500))
    (band,) = bands_of([read_curve(folder, "games", "return") for folder in folders])
    assert band.label == "ntuple, 3 seeds"
    assert band.xs.tolist() == list(range(10, 101, 10))
    assert np.allclose(band.mean - 10 * band.xs, 100)
    assert np.allclose(band.high - band.low, 200)
    curves = [read_curve(folder, "games", "return") for folder in folders]
    apart = [curve._replace(xs=np.ones(1) * n, ys=np.ones(1)) for n, curve in enumerate(curves)]
    assert len(bands_of(apart)) == 3  # they have no place in common


def test_boards_that_differ_have_labels_that_do(tmp_path):
    curve = read_curve(run(tmp_path / "a"), "games", "return")
    boards = ({"shape": [2, 3]}, {}, {"shape": [3, 3]})
    curves = [curve._replace(config=replace(curve.config, env_kwargs=board)) for board in boards]
    labels = [band.label for band in bands_of(curves)]
    assert labels == [f"ntuple, shape {shape}" for shape in ("[2, 3]", "default", "[3, 3]")]


def test_equal_runs_are_no_seeds(tmp_path, capsys):
    folders = [run(tmp_path / name) for name in ("a", "b")]
    shutil.copytree(run(tmp_path / "c", seed=1, games=50), tmp_path / "copy")
    folders += [tmp_path / "c", tmp_path / "copy"]
    bands = bands_of([read_curve(folder, "games", "return") for folder in folders])
    labels = [f"ntuple, seed {seed}, {f}" for seed, f in zip((0, 0, 1, 1), folders, strict=True)]
    assert [band.label for band in bands] == labels
    assert "no band of ntuple: seeds come twice" in capsys.readouterr().err
    assert all(np.array_equal(band.low, band.high) for band in bands)
    assert [band.xs[-1] for band in bands] == [100, 100, 50, 50]


def test_runs_are_drawn_by_a_metric_that_all_have(tmp_path):
    one, other, third = (run(tmp_path / name, seed) for seed, name in enumerate("abc"))
    for folder, names in ((other, ("return", "loss")), (third, ("score",))):
        rows = read_rows(folder / "progress.csv")
        kept = [{"games": row["games"], "seconds": 1, **dict.fromkeys(names, 1)} for row in rows]
        write_rows(kept, folder / "progress.csv")
    plot([one, other], tmp_path / "x.svg")
    assert b"<!-- return -->" in (tmp_path / "x.svg").read_bytes()
    line = refused("plot", one, other, third, "--out", tmp_path / "y.svg")
    has = [f"{one} has return, greedy_return", f"{other} has return, loss", f"{third} has score"]
    assert "; ".join(has) in line


def test_pictures_are_drawn(tmp_path):
    path = tmp_path / "x.png"
    assert typed("plot", run(tmp_path / "a"), "--out", path) == f"wrote {path}\n"
    with Image.open(path) as picture:
        assert picture.size[0] > 600


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--out x.png --against steps", "'timesteps': it has games, seconds, return"),
        ("--out x.png --metric loss", "'loss'"),
        ("--out x.pdf", ".png or .svg files, got x.pdf"),
    ],
)
def test_what_cannot_be_drawn_is_named(words, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert named in refused("plot", run(tmp_path / "a"), *words.split())
    assert not list(tmp_path.glob("x.*"))


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(ValueError, match=str(tmp_path)):
        plot([tmp_path], tmp_path / "x.png")
    plot([tmp_path, run(tmp_path / "a")], tmp_path / "x.png")  # such as runs/*
    assert (tmp_path / "x.png").exists()
