"""Runs of n-tuple networks on the command line: tests on the way, search, mistakes."""

import json

import numpy as np
import pytest
from commands import command, refused, typed

from baselines import arrays, evaluate, load, train
from baselines.progress import Progress
from baselines.search.expectimax import Expectimax
from baselines.training import run_folder as runs
from tile_envs.games import vector_env

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


def test_a_network_that_only_plays_holds_its_weights_alone(tmp_path):
    settings = {"network": "0123 4567", "iteration_games": 50, "method": "tc", "learning_rate": 1.0}
    learned = train("ntuple", "Tiles2048-v0", games=100, out=tmp_path / "tc", **settings)
    played = load(tmp_path / "tc")
    assert 3 * len(played.net.weights) == len(learned.net.weights)
    boards, _ = vector_env(learned.game, 50).reset(seed=1)
    assert np.array_equal(played.action_values(boards), learned.action_values(boards))
    searched = [
        Expectimax(agent, agent.game, 3).action_values(boards) for agent in (played, learned)
    ]
    assert np.array_equal(*searched)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_whole_or_in_steps(order, tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "CHUNK", 7)
    table = np.arange(60.0).reshape(5, 12, order=order)
    held = {
        "table": table,
        "line": np.arange(100, dtype=np.uint16),
        "none": np.zeros((0, 3)),
        "n": 7,
    }
    arrays.write_arrays(tmp_path / "a.npz", held)
    found = arrays.read_arrays(tmp_path / "a.npz", 10_000, {"line": 3})
    assert found.keys() == held.keys()
    assert np.array_equal(found.pop("line"), np.arange(0, 100, 3, dtype=np.uint16))
    for name, array in found.items():
        assert np.array_equal(array, held[name])
        assert array.shape == np.shape(held[name])
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.index(np.arange(20, 24, dtype=np.uint16).tobytes())] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz is damaged, or no file of arrays: Bad CRC-32"):
        arrays.read_arrays(tmp_path / "a.npz", 10_000, {"line": 3})


def test_a_search_tells_early_how_long_its_games_will_take(trained, monkeypatch):
    agent, shown = load(trained), []
    monkeypatch.setattr(Progress, "update", lambda self, done, text: shown.append((done, text)))
    evaluate(agent, "Tiles2048-v0", episodes=3, search=2, agent_kwargs={"threads": 2})
    shares = [done / 3 for done, _ in shown]
    assert 0 < shares[0] < 0.1
    assert shares[len(shares) // 2] > 5 * shares[0]
    assert shown[0][1].startswith("0 of 3 games, ")
    assert shown[-1][1].startswith("2 of 3 games, ")


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
