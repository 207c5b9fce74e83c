"""Runs of n-tuple networks on the command line: tests on the way, resuming, search, export."""

import json
import shutil
import sys

import numpy as np
import pytest
from commands import command, refused, typed
from interrupting import interrupted

from baselines import evaluate, load
from baselines.training import run_folder as runs

SMALL = ("--network", "0123 4567", "--iteration-games", "50")


def weights(folder):
    return runs.read_checkpoint(folder)["weights"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "n"
    done = command("train", "ntuple", "--games", 1200, "--out", folder, *SMALL)
    assert "greedy_return" in done.stderr
    return folder


def test_a_run_is_tested_on_the_way(trained):
    rows = runs.read_progress(trained)
    tested = [int(row["games"]) for row in rows if row["greedy_return"]]
    assert tested == [1000, 1200]
    assert {"seconds", "return", "reach_2048", "moves_per_second"} <= rows[0].keys()
    assert json.loads((trained / "config.json").read_text())["env"] == "Tiles2048-v0"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("name", "status"), [("SIGKILL", -9), ("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupted_run_ends_where_an_uninterrupted_one_ends(trained, tmp_path, name, status):
    folder = tmp_path / "run"
    arguments = ("train", "ntuple", "--games", 1200, "--out", folder, *SMALL)
    done = interrupted("baselines.ntuple.ntuple:NTuple", 9, name, *arguments)
    assert done.returncode == status, done.stderr
    iterations = int(runs.read_checkpoint(folder)["iterations"])
    assert iterations == (8 if name == "SIGKILL" else 9)
    typed(*arguments, "--resume")
    assert np.array_equal(weights(folder), weights(trained))


def test_minutes_of_learning_are_a_budget(tmp_path):
    folder, minutes = tmp_path / "run", 0.02
    assert "has played" in typed("train", "ntuple", "--minutes", minutes, "--out", folder, *SMALL)
    rows = runs.read_progress(folder)
    games, seconds = int(rows[-1]["games"]), float(rows[-1]["seconds"])
    assert 50 <= games < 10_000_000
    # The iteration in which the budget ends is the last one.
    assert seconds >= 60 * minutes - 0.1
    assert int(runs.read_checkpoint(folder)["iterations"]) == games // 50


def test_a_network_is_evaluated_alone_and_with_search(trained, tmp_path):
    out = tmp_path / "rows.json"
    for options in ((), ("--search", 2), ("--search", 2, "--agent-kwargs", '{"threads": 2}')):
        typed("evaluate", trained, "--episodes", 8, "--out", out, *options)
        (row,) = json.loads(out.read_text())
        assert row["mean"] > 1000
        assert row["agent"] == ("ntuple 2-ply" if options else "ntuple")


def test_an_exported_run_plays_but_does_not_go_on(trained, tmp_path):
    small = tmp_path / "small"
    typed("export", trained, "--out", small, "--episodes", 20)
    card = (small / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: tile-envs\n")
    assert "ntuple on Tiles2048-v0, " in card
    row = evaluate(load(small), "Tiles2048-v0", episodes=20)
    assert f"value: {row['mean']:.1f}" in card
    sizes = [(folder / "checkpoint.npz").stat().st_size for folder in (small, trained)]
    assert sizes[0] < sizes[1] / 5
    typed("evaluate", small, "--episodes", 10)
    resume = ("train", "ntuple", "--games", 2000, "--out", small, "--resume")
    assert "was exported and cannot learn" in refused(*resume, *SMALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "ntuple", "--trace-decay", "2"), "trace_decay must be less than or equal to 1"),
        (("train", "ntuple", "--network", "00"), "the tuple '00' must have different cells"),
        (("train", "ntuple", "--env", "TicTacToe-v0"), "NTuple does not play tic-tac-toe"),
        (("evaluate", "random", "--search", "2"), "the values of a trained agent"),
        (("train", "ntuple", "--minutes", "0"), "minutes must be greater than 0, got 0.0"),
        (("train", "qtable", "--resume", "--out", "TRAINED"), "is a run of ntuple, not of qtable"),
        (("export", "TRAINED", "--out", "TRAINED"), "holds a run already: give another --out"),
        (
            ("evaluate", "TRAINED", "--search", "2", "--agent-kwargs", '{"milis": 3}'),
            "Expectimax takes agent, game, depth, deeper, milliseconds",
        ),
        (("evaluate", "TRAINED", "--search", "0"), "depth must be a positive integer, got 0"),
        (("evaluate", "TRAINED", "--env", "Tiles2584-v0"), "trained in Tiles2048-v0, not in"),
        (("evaluate", "TRAINED", "--agent-kwargs", '{"a": 1}'), "takes no options"),
        (("export", "nowhere", "--out", "x"), "nowhere holds no run"),
        (("export", "TRAINED", "--out", "FULL"), "FULL holds mine.txt already: give another --out"),
    ],
)
def test_mistakes_are_one_line(trained, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FULL").mkdir()
    (tmp_path / "FULL" / "mine.txt").touch()
    line = refused(*(str(trained) if word == "TRAINED" else word for word in arguments))
    assert line.startswith("error: ")
    assert message in line


def test_a_run_is_resumed_with_the_settings_that_it_began_with(trained, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    typed("train", "ntuple", "--games", 1300, "--out", folder, "--resume")
    assert int(runs.read_checkpoint(folder)["iterations"]) == 26
    rows = runs.read_progress(folder)
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)  # the first call's are counted on


def test_a_resume_with_other_settings_says_which(trained):
    resume = ("train", "ntuple", "--games", 1300, "--out", trained, "--resume")
    line = refused(*resume, "--iteration-games", 100)
    assert "iteration_games was 50 and is now 100" in line
