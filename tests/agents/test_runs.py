"""Training runs: what a folder holds, that a resumed one ends alike, and several seeds."""

import json
import math
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import refused, typed
from same import content_of, contents

from baselines import train
from baselines.arrays import pack
from baselines.commands.train import side_by_side
from baselines.commands.train import typed as given_by
from baselines.evaluation.comparison import Result, differences
from baselines.training import run_folder as runs
from baselines.training.config import RunConfig
from baselines.training.run import config_for
from baselines.training.run_folder import Run

FEW = {"games": 100, "n_envs": 10}


def test_a_folder_holds_a_run_and_is_evaluated_like_a_name(tmp_path):
    run, out = tmp_path / "q", tmp_path / "rows.json"
    typed("train", "qtable", "--games", 30_000, "--seed", 3, "--out", run)
    config = json.loads((run / "config.json").read_text())
    told = {"agent": "qtable", "seed": 3, "sides": ["X", "O"], "modules": []}
    assert config | told == config
    assert config["versions"].keys() >= {"numpy", "tile-envs"}
    assert int(runs.read_progress(run)[-1]["games"]) == 30_000
    typed("evaluate", run, "--exact", "--out", out)
    x, o = json.loads(out.read_text())
    assert (x["side"], o["side"]) == ("X", "O")
    assert x["win"] > 0.95
    assert o["win"] > 0.85


def test_a_budget_that_is_given_replaces_those_of_the_preset():
    for words, budget in (("", (10_000_000, None, 10)), ("--moves 9", (None, 9, None))):
        config = config_for("ntuple", **given_by("ntuple", words.split()))
        assert (config.games, config.moves, config.minutes) == budget
    assert 3000 <= train("qtable", moves=3000, n_envs=10).moves < 3200


def test_files_to_learn_from_are_found_by_their_path_or_their_content(tmp_path, monkeypatch):
    def starting(path):
        return json.dumps({"shape": [2, 2], "starts": str(path)})

    monkeypatch.chdir(tmp_path)
    np.save("late.npy", [[[2, 2], [1, 0]]])
    words = ("train", "qtable", "--env", "Tiles2048-v0", "--out", tmp_path / "q", "--games")
    typed(*words, 20, "--n-envs", 10, "--env-kwargs", starting("late.npy"))
    monkeypatch.chdir("/")
    typed(*words, 30, "--resume")
    moved = (tmp_path / "late.npy").rename(tmp_path / "moved.npy")
    asked = (*words, 40, "--resume", "--env-kwargs", starting(moved))
    typed(*asked)
    assert Run.read(tmp_path / "q").config.env_kwargs["starts"] == str(moved)
    np.save(moved, [[[2, 1], [1, 0]]])  # changed in its place
    assert "env_kwargs was" in refused(*asked)


def test_minutes_of_earlier_calls_count(tmp_path):
    given = {"agent": "qtable", "n_envs": 10, "out": tmp_path}
    train(**given, minutes=0.05)
    before = contents(tmp_path)
    train(**given, minutes=0.05, resume=True)
    assert contents(tmp_path) == before
    train(**given, minutes=0.06, resume=True)
    seconds = [float(row["seconds"]) for row in runs.read_progress(tmp_path)]
    assert seconds == sorted(seconds)
    assert 3.6 <= seconds[-1] < 6


def test_a_learner_of_the_users_is_resumed_up_to_its_budget(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = "from baselines.tabular.qtable import QTable\nclass Mine(QTable): ..."
    (tmp_path / "mine.py").write_text(module)
    words = ("train", "mine:Mine", "--env", "TicTacToe-v0", "--n-envs", 5, "--out", "run")
    typed(*words, "--games", 20)
    assert "Mine has played 40 games" in typed(*words, "--games", 40, "--resume")
    assert runs.read_checkpoint(tmp_path / "run")["iterations"] == 8
    assert train(sys.modules.pop("mine").Mine, "TicTacToe-v0", games=40, n_envs=5).iterations == 8


def test_a_callback_sees_each_iteration_and_can_end_the_run(tmp_path):
    seen = []

    def callback(learner, metrics):
        seen.append(learner.games)
        return len(seen) < 3

    learner = train("qtable", **FEW, callback=callback, out=tmp_path / "q")
    assert seen == [10, 20, 30] == [10, 20, learner.games]
    learner.save(tmp_path / "saved")
    for folder in (tmp_path / "q", tmp_path / "saved"):
        assert not Run.read(folder).finished
        with pytest.raises(ValueError, match=r"40 games.*ZeroDivisionError"):
            train("qtable", resume=True, callback=lambda *_: 1 / 0, out=folder)
        assert train("qtable", resume=True, out=folder).iterations == 10
        assert Run.read(folder).finished


def test_tests_come_as_often_as_asked_in_a_resumed_run_too(tmp_path):
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    given = {"env": "Tiles2048-v0", "env_kwargs": {"shape": [2, 2]}, **FEW}
    given |= {"test_every": 20, "test_games": 3}
    train("qtable", **given, out=whole, checkpoint_every=0.01)
    rows = runs.read_progress(whole)
    assert [row["games"] for row in rows if row["greedy_return"]] == ["20", "40", "60", "80", "100"]
    train("qtable", **given, out=resumed, callback=lambda learner, _: learner.games < 50)
    train("qtable", out=resumed, resume=True)
    assert contents(resumed) == contents(whole)


def test_a_run_tells_all_its_budgets(tmp_path):
    words = ("train", "qtable", "--n-envs", 10, "--out", tmp_path / "q", "--games")
    typed(*words, 20)
    typed(*words, 40, "--resume")
    assert Run.read(tmp_path / "q").config.budgets == ({"games": 20}, {"games": 40})
    assert "20, then 40 games" in typed("evaluate", tmp_path / "q", "--exact")


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        ({"env_kwargs": {"shape": (4, 4), "spawn": {"2": 0.9, "4": 0.1}}}, True),
        ({"minutes": 1.0, "settings": {"epsilon": 1, "replays": "moved"}}, True),
        ({"env_kwargs": {"max_illegal": 5}}, False),
        ({"minutes": 2}, False),
        ({"contents": {"replays": "another"}}, False),
        ({"budgets": ({"minutes": 0.5}, {"minutes": 1})}, False),
    ],
)
def test_runs_have_equal_keys_if_the_same_decides_them(change, equal):
    settings, held = {"epsilon": 1.0, "replays": "a"}, {"replays": "what they hold"}
    one = RunConfig("qtable", 1, "Tiles2048-v0", {}, (), settings, 0, None, None, 1)
    one = replace(one, contents=held)
    assert (replace(one, **change).key == one.key) == equal


TC = {"network": "0123 4567", "iteration_games": 50, "method": "tc", "learning_rate": 1.0}


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
    assert dict(pack(state)).keys() >= {"dense", "table/300001", "counts/600002"}
    runs.write_checkpoint(tmp_path, state)
    assert (tmp_path / "checkpoint.npz").stat().st_size < 5_200_000
    found = runs.read_checkpoint(tmp_path)
    assert found.keys() == state.keys()
    assert all(found[name].tobytes() == array.tobytes() for name, array in state.items())


RUN = ("train", "qtable", "--games", 4000)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    typed(*RUN, "--seed", 5, "--seeds", 2, "--out", folder / "q")
    return folder


def test_each_seed_is_the_run_that_it_is_alone(seeds, tmp_path):
    assert sorted(path.name for path in seeds.iterdir()) == ["q-5", "q-6"]
    typed(*RUN, "--seed", 6, "--out", tmp_path / "alone")
    folders = (tmp_path / "alone", seeds / "q-5", seeds / "q-6")
    arrays = [content_of(folder / "checkpoint.npz") for folder in folders]
    for same in (arrays, [Run.read(folder).config.key for folder in folders]):
        assert same[0] == same[2] != same[1]


def test_seeds_are_resumed_together_and_those_that_are_missing_begun(seeds):
    words = ("--seeds", 2, "--out", seeds / "q", "--seed")
    assert f"{seeds / 'q-6'} holds a run already" in refused(*RUN, *words, 6)
    assert "4,000 games" in refused(*RUN[:3], 3000, *words, 4, "--resume")
    assert not (seeds / "q-4").exists()
    typed(*RUN, *words, 6, "--resume")
    assert all(Run.read(seeds / f"q-{seed}").finished for seed in (5, 6, 7))


@pytest.mark.linux
def test_seeds_use_the_cores_that_the_process_may_use(tmp_path, monkeypatch):
    begun, of_training = [], "baselines.commands.train.side_by_side"
    monkeypatch.setattr(of_training, lambda _, at_once: begun.append(at_once) or ())
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5, 7})
    monkeypatch.setattr("baselines.settings.CGROUP", tmp_path)
    for quota, cores in (("max", 4), ("900000", 4), ("250000", 2), ("20000", 1)):
        (tmp_path / "cpu.max").write_text(f"{quota} 100000\n")
        typed(*RUN, "--seeds", 9, "--out", tmp_path / "q")
        assert begun.pop() == cores


def test_seeds_that_run_at_once_share_the_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("BASELINES_MEMORY", f"{700 << 20}")
    monkeypatch.setattr("baselines.commands.train.usable_cores", lambda: 2)
    large = ("--network", "8x6", "--games", 10, "--out", tmp_path / "n", "--seeds")
    assert "and 0.3 GiB are free" in refused("train", "ntuple", *large, 2)
    assert not list(tmp_path.iterdir())


def test_a_seed_that_fails_stops_the_others(tmp_path):
    long, began = ["train", "qtable", "--minutes", "3", "--out", str(tmp_path)], time.monotonic()
    with pytest.raises(ValueError, match="a: "):
        list(side_by_side({Path("a"): ["train"], Path("b"): long}, 2))
    assert time.monotonic() - began < 180


def test_seeds_and_no_copies_are_averaged_with_an_interval_over_seeds(seeds, tmp_path):
    both, out = (seeds / "q-5", seeds / "q-6"), tmp_path / "rows.json"
    typed("evaluate", *both, "--exact", "--out", out)
    *rows, as_x, as_o = json.loads(out.read_text())
    for side, row in (("X", as_x), ("O", as_o)):
        wins = [one["win"] for one in rows if one["side"] == side]
        assert row["win"] == pytest.approx(np.mean(wins))
        assert row["interval_method"] == "Student's, over seeds"
        assert row["low"] <= row["win"] <= row["high"]
    copy = shutil.copytree(both[0], tmp_path / "copy")
    assert "over seeds" not in typed("evaluate", both[0], copy, "--exact")


def test_differences_are_paired_game_by_game():
    luck = np.random.default_rng(0).normal(0, 1000, 400)
    results = []
    for name, returns in (("a", luck + np.tile([3.0, -1.0], 200)), ("b", luck)):
        row = {"agent": name, "mean": np.mean(returns), "env_kwargs": {}}
        results.append(Result(row, "", returns))
    (line,) = differences(results)
    assert "a − b: mean 1 (0.803 to 1.2)" in line  # in games of its own, 100 would hide in the luck
