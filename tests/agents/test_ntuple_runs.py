"""Runs of n-tuple networks: tests on the way, search, mean weights, tables on disk."""

import json
import math
import pickle

import numpy as np
import pytest
from commands import command, typed

from baselines import evaluate, load, train
from baselines.arrays import pack
from baselines.progress import Progress
from baselines.search.expectimax import Expectimax
from baselines.training import run_folder as runs
from tile_envs.games import vector_env

TC = {"network": "0123 4567", "iteration_games": 50, "method": "tc", "learning_rate": 1.0}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "n"
    small = ("--network", "0123 4567", "--iteration-games", "50", "--games", 1200)
    assert "greedy_return" in command("train", "ntuple", *small, "--out", folder).stderr
    return folder


def test_a_run_is_tested_on_the_way_and_evaluated_with_search(trained, tmp_path):
    rows, out = runs.read_progress(trained), tmp_path / "rows.json"
    assert [int(row["games"]) for row in rows if row["greedy_return"]] == [1000, 1200]
    assert {"seconds", "return", "reach_2048", "moves_per_second"} <= rows[0].keys()
    for options, name in ((("--threads", 2), ""), (("--milliseconds", 1), ", milliseconds 1")):
        typed("evaluate", trained, "--episodes", 4, "--out", out, "--search", 2, *options)
        (row,) = json.loads(out.read_text())
        assert row["mean"] > 1000
        assert (row["agent"], row["env"]) == (f"ntuple 2-ply{name}", "Tiles2048-v0")


@pytest.mark.parametrize("averaging", [0.0, 0.6])
def test_a_network_that_only_plays_holds_the_weights_to_play_by_alone(averaging, tmp_path):
    learned = train("ntuple", games=100, out=tmp_path / "tc", **TC, averaging=averaging)
    played = load(tmp_path / "tc")
    held, needed = (len(pickle.dumps(each)) for each in (played, learned))
    assert (4 if averaging else 3) * held == pytest.approx(needed, rel=0.01)
    boards, _ = vector_env(learned.game, 50).reset(seed=1)
    for depth in (1, 3):
        one, other = (Expectimax(agent, agent.game, depth) for agent in (played, learned))
        assert np.array_equal(one.action_values(boards), other.action_values(boards))


@pytest.mark.parametrize("method", ["td", "tc"])
def test_a_network_plays_by_the_mean_of_its_last_weights_and_learns_on_without_it(method, tmp_path):
    """It looks at most ten times, here after each iteration in the window, the last half.

    A run that goes on keeps the mean if it is in the new window, as of 8 and 9 iterations.
    """
    settings, seen, plain = {**TC, "method": method, "averaging": 0.5}, [], []

    def see(learner, _):
        seen.append(learner.state_dict()["latest"].copy())

    for games, first, how in ((400, 4, settings), (450, 4, {}), (800, 9, {})):
        how = how or {"resume": True}
        learned = train("ntuple", games=games, out=tmp_path / "n", callback=see, **how)
        mean = sum(seen[first:]) / len(seen[first:])
        assert np.allclose(learned.state_dict()["weights"], mean, atol=1e-3)

    def see_weights(learner, _):
        plain.append(learner.state_dict()["weights"].copy())

    train("ntuple", games=800, callback=see_weights, **settings | {"averaging": 0.0})
    assert np.array_equal(seen, plain)


def test_a_run_with_means_that_goes_on_ends_alike_wherever_it_is_interrupted(tmp_path):
    def train_to(games, name, until=math.inf, **how):
        how |= {"test_games": 0, "callback": lambda learner, _: learner.games < until}
        return train("ntuple", games=games, out=tmp_path / name, **how).state_dict()

    means, on = TC | {"averaging": 0.2}, {"resume": True}
    train_to(200, "whole", **means), train_to(200, "cut", **means)
    train_to(1000, "cut", until=700, **on)
    at_once, *others = (
        train_to(1000, *run, **how) for *run, how in (("new", means), ("whole", on), ("cut", on))
    )
    for name, array in at_once.items():
        assert all(array.tobytes() == state[name].tobytes() for state in others)


def test_tables_are_kept_without_what_has_not_been_used(tmp_path):
    n = 300_001
    used = np.random.default_rng(0).choice(n - 1, 5_000, replace=False)
    table, sizes, counts = np.full(n, 2.5), np.zeros(n, np.float32), np.zeros(2 * n, np.int32)
    table[used], sizes[used], counts[used] = np.nan, -0.0, used
    state = {"table": table, "sizes of": sizes, "counts": counts, "few": np.arange(3)}
    state["errors"] = np.where(np.isnan(table), -3.5, 0.0)  # of the type and length of the first
    state["dense"], state["square"] = np.arange(n) * 1.0, np.zeros((n // 5, 5))
    assert pack({"table": table[::-1]}).keys() == {"mask/300001/table", "table/300001"}
    assert pack({"pairs": np.zeros(n, complex)}).keys() == {"pairs"}
    assert pack(state).keys() >= {"dense", "table/300001", "counts/600002"}
    runs.write_checkpoint(tmp_path, state)
    assert (tmp_path / "checkpoint.npz").stat().st_size < 5_200_000
    found, part = runs.read_checkpoint(tmp_path), {name: state[name] for name in ("table", "few")}
    assert found.keys() == state.keys()
    assert all(found[name].tobytes() == array.tobytes() for name, array in state.items())
    assert runs.read_checkpoint(tmp_path, like=part).keys() == part.keys()


def test_a_search_tells_early_how_long_its_games_will_take(trained, monkeypatch):
    agent, shown = load(trained), []
    monkeypatch.setattr(Progress, "update", lambda self, done, text: shown.append((done, text)))
    evaluate(agent, "Tiles2048-v0", episodes=3, search=2, threads=2)
    shares = [done / 3 for done, _ in shown]
    assert shares[0] == 0 < shares[1] < 0.1
    assert shares[len(shares) // 2] > 5 * shares[1]
    assert shown[0][1].startswith("0 of 3 games, ")
    assert shown[-1][1].startswith("3 of 3 games, ")
