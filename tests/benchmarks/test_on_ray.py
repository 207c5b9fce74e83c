"""Experiments on a local cluster of Ray make the rows that they make without it."""

import dataclasses
import os
import signal
import threading
import time
from contextlib import suppress

import psutil
import pytest
from commands import TESTS
from test_rows import EXACT, GAME_2048, PAIRINGS, PLAYED, TICTACTOE

from baselines.evaluation.rows import read_rows
from benchmarks import on_ray as module
from benchmarks.kinds import Games, Pairings, Sampled
from benchmarks.on_ray import on_ray
from benchmarks.run import make_missing as run
from benchmarks.training import Training

try:
    import ray
except ModuleNotFoundError:
    pytest.skip("needs tile-envs[ray]", allow_module_level=True)

DYING = Sampled("agents", "dying", Training("dying:Dying", GAME_2048), (Games(3),))
# Seconds of training, in which the worker can be killed.
LONG = Training("value_table", TICTACTOE, {}, games=100_000)
LONGER = dataclasses.replace(EXACT, training=LONG)
TOGETHER = (LONGER, *PAIRINGS[:-1], Pairings("crosstable", "values", LONG))


@pytest.fixture
def cluster(monkeypatch):
    """A cluster of two workers, started by the command's own way and ended by it."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))  # for `dying`
    begin = ray.init
    monkeypatch.setattr(ray, "init", lambda **options: begin(num_cpus=2, **options))
    return on_ray()


def rows_of(folder, table):
    return [row | {"seconds": ""} for row in read_rows(folder / "results" / f"{table}.csv")]


def kill_the_worker_of(folder, killed):
    """Kill the process that holds a run, as soon as one does."""
    lock, pid = str(folder / "lock"), None
    while pid is None:
        time.sleep(0.01)
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if lock in [file.path for file in process.open_files()]:
                    pid = process.pid
    os.kill(pid, signal.SIGKILL)
    killed.append(pid)


@pytest.mark.filterwarnings("ignore")
def test_rows_are_those_of_one_process_though_a_worker_is_killed(cluster, tmp_path):
    run(TOGETHER, TOGETHER, tmp_path / "here" / "results", tmp_path / "here" / "runs")
    folder, killed = tmp_path / "there", []
    watch = threading.Thread(
        target=kill_the_worker_of, args=(folder / "runs" / LONG.name(0), killed)
    )
    watch.start()
    run(TOGETHER, TOGETHER, folder / "results", folder / "runs", cluster)
    watch.join()
    (pid,) = killed
    assert pid != os.getpid()
    assert not psutil.pid_exists(pid)
    for table in ("seeds", "crosstable"):
        assert rows_of(folder, table) == rows_of(tmp_path / "here", table)


@pytest.mark.filterwarnings("ignore")
def test_a_row_that_kills_every_worker_has_failed(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RETRIES", 1)
    both = (DYING, PLAYED)
    (failure,) = run(both, both, tmp_path / "results", tmp_path / "runs", cluster)
    assert failure.startswith("agents/dying: WorkerCrashed")
    by_agent = {row["agent"]: row for row in read_rows(tmp_path / "results" / "agents.csv")}
    assert "WorkerCrashed" in by_agent["dying:Dying"]["error"]
    assert float(by_agent["greedy"]["mean"]) > 1000


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense"])
def test_an_address_that_does_not_answer_is_one_clear_error(address):
    with pytest.raises(ValueError, match=f"no Ray cluster answers at '{address}': expected"):
        on_ray(address)
