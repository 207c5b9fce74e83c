"""Several seeds of a run: trained side by side, averaged, and told apart in the same games."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from commands import refused, typed
from same import content_of

from baselines.agents import Task
from baselines.commands.train import side_by_side
from baselines.evaluation.comparison import Result, differences, over_seeds
from baselines.ntuple.ntuple import NTuple, NTupleSettings
from baselines.search.expectimax import Expectimax
from baselines.seeds import (
    game_seeds,
    seed_sequence,
    training_generator,
    training_seeds,
    training_stream,
)
from baselines.training.run_folder import Run

RUN = ("train", "qtable", "--games", 4000)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    said = typed(*RUN, "--seed", 5, "--seeds", 2, "--out", folder / "q")
    return folder, said


def test_each_seed_is_the_run_that_it_is_alone(seeds, tmp_path):
    folder, said = seeds
    assert sorted(path.name for path in folder.iterdir()) == ["q-5", "q-6"]
    assert f"evaluate {folder / 'q-5'} {folder / 'q-6'}" in said
    typed(*RUN, "--seed", 6, "--out", tmp_path / "alone")
    alone, *both = tmp_path / "alone", folder / "q-5", folder / "q-6"
    arrays = [content_of(run / "checkpoint.npz") for run in (alone, *both)]
    keys = [Run.read(run).config.key for run in (alone, *both)]
    for same in (arrays, keys):
        assert same[0] == same[2] != same[1]


def test_seeds_are_resumed_together_and_those_that_are_missing_begun(seeds):
    folder, _ = seeds
    words = ("--seeds", 2, "--out", folder / "q", "--seed")
    assert f"{folder / 'q-6'} holds a run already" in refused(*RUN, *words, 6)
    assert "4,000 games" in refused(*RUN[:3], 3000, *words, 4, "--resume")
    assert not (folder / "q-4").exists()
    typed(*RUN, *words, 6, "--resume")
    assert all(Run.read(folder / f"q-{seed}").finished for seed in (5, 6, 7))


@pytest.mark.linux
@pytest.mark.parametrize(
    ("file", "text", "cores"),
    [
        *(("cpu.max", "max 100000", 4), ("cpu.max", "900000 100000", 4)),
        *(("cpu.max", "250000 100000", 2), ("cpu.max", "20000 100000", 1)),
        *(("cpu/cpu.cfs_quota_us", "300000", 3), ("cpu/cpu.cfs_quota_us", "-1", 4)),
    ],
)
def test_seeds_and_searches_use_the_cores_that_the_process_may_use(
    file, text, cores, tmp_path, monkeypatch
):
    monkeypatch.setattr("baselines.settings.CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5, 7})
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    (tmp_path / file).write_text(f"{text}\n")
    begun, of_training = [], "baselines.commands.train.side_by_side"
    monkeypatch.setattr(of_training, lambda _, at_once: begun.append(at_once) or ())
    for seeds in (9, 1):
        typed(*RUN, "--seeds", seeds, "--out", tmp_path / "q")
    assert begun == [cores, 1]
    game = Task("Tiles2048-v0").game
    network = NTuple(game, 0, NTupleSettings(network="0123"))
    assert Expectimax(network, game, 3, table=1).games_at_once == max(16, 4 * cores)


def test_seeds_that_run_at_once_share_the_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("BASELINES_MEMORY", f"{700 << 20}")
    monkeypatch.setattr("baselines.commands.train.usable_cores", lambda: 2)
    large = ("--network", "8x6", "--games", 10, "--out", tmp_path / "n", "--seeds")
    assert "and 0.3 GiB are free" in refused("train", "ntuple", *large, 2)
    assert not list(tmp_path.iterdir())


def test_a_run_that_begins_while_the_others_are_stopped_is_stopped(monkeypatch):
    begin, begun, codes = subprocess.Popen, {}, {"a": "exit(3)", "b": "import time; time.sleep(60)"}
    stopping = threading.Event()

    def late(words, **options):
        if words[-1] == "b":
            stopping.wait(60)  # until the other one has failed
        begun[words[-1]] = begin([sys.executable, "-c", codes[words[-1]]], **options)
        return begun[words[-1]]

    monkeypatch.setattr(subprocess, "Popen", late)
    events = SimpleNamespace(Event=lambda: stopping)
    monkeypatch.setattr("baselines.commands.train.threading", events)
    with pytest.raises(ValueError, match="a: status 3"):
        list(side_by_side({Path(name): [name] for name in codes}, 2))
    assert begun["b"].wait() == -signal.SIGTERM


def test_seeds_are_averaged_with_an_interval_over_seeds(seeds, tmp_path):
    folder, _ = seeds
    runs, out = (folder / "q-5", folder / "q-6"), tmp_path / "rows.json"
    said = typed("evaluate", *runs, "--exact", "--out", out)
    *rows, as_x, as_o = json.loads(out.read_text())
    assert said.count(f"{runs[0]} (qtable) and 1 more seed on ") == 2
    for side, row in (("X", as_x), ("O", as_o)):
        wins = [one["win"] for one in rows if one["side"] == side]
        assert row["win"] == pytest.approx(np.mean(wins))
        assert row["interval_method"] == "Student's, over seeds"
        assert row["low"] <= row["win"] <= row["high"]
    said = typed("compare", *runs, "random", "--episodes", 50, "--side", "X")
    assert re.search(r"q-5 \(qtable\) and 1 more seed − random: mean .* over seeds", said)


def judged(name, returns):
    row = {"agent": name, "mean": float(np.mean(returns)), "env_kwargs": {}}
    return Result(row, "", np.array(returns, np.float64))


def test_differences_are_paired_game_by_game():
    luck = np.random.default_rng(0).normal(0, 1000, 400)
    even = np.tile([3.0, -1.0], 200)
    (line,) = differences([judged("a", luck + even), judged("b", luck)])
    assert "a − b: mean 1 (0.803 to 1.2)" in line  # in games of its own, 100 would hide in the luck
    seeds = [judged("a", luck + even + more)._replace(setting="a") for more in (-4, 4)]
    over_seeds, of_networks = differences([*seeds, judged("b", luck)])
    assert "a and 1 more seed − b: mean 1 (-49.8 to 51.8) over seeds" in over_seeds
    assert "mean 1 (0.803 to 1.2)" in of_networks
    noise = np.random.default_rng(1).normal(0, 1000, 400)
    (line,) = differences([judged("a", luck + 5), judged("b", noise)])
    assert int(re.search(r"about ([\d,]+) more games", line)[1].replace(",", "")) > 400
    assert differences([judged("a", luck), judged("b", luck)]) == []


def test_copied_runs_and_agents_without_a_run_are_no_further_seeds(seeds, tmp_path):
    folder, _ = seeds
    copy = shutil.copytree(folder / "q-5", tmp_path / "copy")
    assert "over seeds" not in typed("evaluate", folder / "q-5", copy, "--exact")
    said = typed("evaluate", folder / "q-5", folder / "q-6", copy, "--exact")
    assert said.count("and 1 more seed on") == 2
    assert over_seeds([judged("a", [1.0, 2.0]), judged("a", [1.0, 3.0])]) == []


def test_seeds_of_any_length_draw_numbers_of_their_own():
    lengths = [5, 2**32 + 5, 2**33 + 5, 2**64 + 5, 2**96 + 5, 5 * 2**32 + 1]
    drawn = [game_seeds(seed, 3) for seed in lengths]
    parts = [(1, 0), (1, 1), (1, 5), (5, 1)]
    for seed in lengths:
        drawn += [training_seeds(training_generator(seed, *part), 3) for part in parts]
        uses = (seed_sequence(seed, use, 3) for use in ("updates", "questions"))
        drawn += [np.array([training_stream(seed)], np.uint64)]
        drawn += [use.generate_state(3, np.uint64) for use in uses]
    every = np.concatenate(drawn)
    assert len(np.unique(every)) == len(every)
