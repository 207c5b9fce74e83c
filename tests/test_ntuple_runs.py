"""Runs of n-tuple networks on the command line: tests on the way, search, mistakes."""

import json

import pytest
from commands import command, refused, typed

from baselines.training import run_folder as runs

SMALL = ("--network", "0123 4567", "--iteration-games", "50")


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


def test_a_network_is_evaluated_alone_and_with_search(trained, tmp_path):
    out = tmp_path / "rows.json"
    for options in ((), ("--search", 2), ("--search", 2, "--agent-kwargs", '{"threads": 2}')):
        typed("evaluate", trained, "--episodes", 8, "--out", out, *options)
        (row,) = json.loads(out.read_text())
        assert row["mean"] > 1000
        assert row["agent"] == ("ntuple 2-ply" if options else "ntuple")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "ntuple", "--network", "00"), "the tuple '00' must have different cells"),
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
