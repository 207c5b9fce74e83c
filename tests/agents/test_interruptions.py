"""Commands that are ended by signals, kills or a full disk, and still end with the same files.

The slow tests end each command that writes at random moments:
`pytest -m slow tests/agents/test_interruptions.py`.
"""

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from commands import command, in_a_process, refused, typed
from same import content_of, contents
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from baselines import train
from baselines.evaluation.rows import write_rows
from baselines.training import run_folder as runs
from baselines.training.run_folder import Run

has_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals")
HOOKED = """
import os, signal, sys
import baselines.training.loop as loop
from baselines.__main__ import main
from baselines.tabular.value_table import ValueTable

loop.CHECKPOINT_SECONDS, loop.MAX_SAVING_FRACTION = 0.0, float("inf")  # after every iteration
learn = ValueTable.learn
def hooked(self):
    metrics = learn(self)
    if self.iterations == {iteration}:
        os.kill(os.getpid(), signal.{name})
    return metrics
ValueTable.learn = hooked
sys.argv[0] = "baselines"
main()
"""
VALUES = ("train", "value_table", "--n-envs", "500")


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """Return a folder of runs that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    for games in (20_000, 3_000):
        typed(*VALUES, "--games", games, "--out", folder / str(games))
    typed("train", "qtable", "--n-envs", 100, "--games", 3000, "--out", folder / "q")
    return folder


@has_signals
@pytest.mark.parametrize(
    ("name", "games", "iteration"),
    [("SIGKILL", 20_000, 12), ("SIGKILL", 3_000, 6), ("SIGINT", 20_000, 12), ("SIGTERM", 3_000, 6)],
)
def test_an_interrupted_run_ends_as_a_whole_one_does(wholes, tmp_path, name, games, iteration):
    """Interrupted in the middle, and in its last iteration."""
    folder, status = tmp_path / "run", {"SIGKILL": -9, "SIGINT": 130, "SIGTERM": 143}[name]
    options = (*VALUES, "--games", games, "--out", folder)
    done = in_a_process("-c", HOOKED.format(iteration=iteration, name=name), *options)
    assert done.returncode == status, done.stderr
    # A signal that can be caught lets the iteration end and saves; a kill loses the last one.
    learned = iteration - (name == "SIGKILL")
    assert int(runs.read_checkpoint(folder)["iterations"]) == learned
    if name != "SIGKILL":
        assert f"stopped after {500 * iteration:,} games" in done.stderr.splitlines()[-1]
    assert "--unfinished" in refused("evaluate", folder, "--exact")
    assert "value_table, unfinished" in typed("evaluate", folder, "--exact", "--unfinished")
    typed(*options, "--resume")
    assert contents(folder) == contents(wholes / str(games))


def test_tensorboard_shows_each_step_once_after_a_resume(wholes, tmp_path):
    folder, part = shutil.copytree(wholes / "q", tmp_path / "run"), tmp_path / "part"
    train("qtable", n_envs=100, games=1500, out=part)
    (part / "checkpoint.npz").replace(folder / "checkpoint.npz")  # as after a kill
    replace(Run.read(folder), finished=False).write(folder)
    train("qtable", games=3000, out=folder, resume=True)
    shown = EventAccumulator(str(folder)).Reload()
    for tag in shown.Tags()["scalars"]:
        steps = [event.step for event in shown.Scalars(tag)]
        assert steps == sorted(set(steps))
        assert steps[-1] == 3000
    games = {int(row["games"]) for row in runs.read_progress(folder)}
    assert games <= {event.step for event in shown.Scalars("train/return")}


def test_the_clock_is_not_set_back_by_a_kill_before_the_configuration(wholes, tmp_path):
    folder = shutil.copytree(wholes / "q", tmp_path / "run")
    replace(Run.read(folder), seconds=0.0, finished=False).write(folder)
    *_, row = runs.read_progress(folder)
    write_rows([row | {"seconds": 7.5}], folder / runs.PROGRESS)
    assert train("qtable", resume=True, out=folder).run.seconds == 7.5


HOLDING = """
import sys, time
from pathlib import Path
from baselines.training.run_folder import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_process_at_a_time_learns_in_a_folder(wholes, tmp_path):
    folder = shutil.copytree(wholes / "q", tmp_path / "run")
    asked = ("train", "qtable", "--games", 3_100, "--out", folder, "--resume")
    holding = [sys.executable, "-c", HOLDING, str(folder)]
    other = subprocess.Popen(holding, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    assert f"{folder} is in use by another process" in refused(*asked)
    assert content_of(folder / "checkpoint.npz") == content_of(wholes / "q" / "checkpoint.npz")
    other.kill()
    other.communicate()
    assert (folder / "lock").exists()
    # The system has freed the lock of a process that is gone.
    assert command(*asked).returncode == 0
    assert not (folder / "lock").exists()


@pytest.mark.linux
def test_a_full_disk_is_named_with_the_folder(wholes, tmp_path):
    resource = pytest.importorskip("resource")
    folder = shutil.copytree(wholes / "q", tmp_path / "run")
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, largest[1]))
    try:
        done = command("train", "qtable", "--resume", "--games", 3_100, "--out", folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, largest)
    assert (done.returncode, str(folder) in done.stderr.splitlines()[-1]) == (2, True), done.stderr


DEEP = "--games 120 --width 4 --hidden 8 --n-envs 4 --shape 2 2 --out FOLDER/run"
COMMANDS = [
    "baselines train qtable --games 3000 --n-envs 100 --out FOLDER/run",
    "baselines train value_table --games 3000 --n-envs 50 --out FOLDER/run",
    "baselines train neural --preset published --games 20000 --out FOLDER/run",
    "baselines train ntuple --network 0123 --games 300 --iteration-games 10 --out FOLDER/run",
    f"baselines train dqn --buffer-size 5000 --learning-starts 64 --batch-size 32 {DEEP}",
    f"baselines train ppo --n-steps 16 --batch-size 16 {DEEP}",
    "baselines evaluate TRAINED --episodes 50 --out FOLDER/rows.csv",
    "baselines record TRAINED --episodes 5 --out FOLDER/games",
    "baselines export TRAINED --out FOLDER/small",
    "benchmarks run --only exact/greedy agents/greedy --results FOLDER/results --runs FOLDER/runs",
]


def python_m(words, folder, trained=None):
    """Return a command that writes to a folder, or goes on with the run that is begun there."""
    places = {"TRAINED": str(trained), "FOLDER": str(folder)}
    words = re.sub("TRAINED|FOLDER", lambda found: places[found[0]], words).split()
    begun = (folder / "run" / "config.json").exists()
    return [sys.executable, "-m", *words, *["--resume"] * begun]


IN_A_CALLBACK = """
import signal, time
from baselines.__main__ import handle_errors
class Freed:
    def __del__(self): signal.raise_signal(signal.SIGTERM)
with handle_errors():
    Freed()
    for _ in range(600): time.sleep(0.1)
"""


@has_signals
def test_a_signal_in_a_callback_that_cannot_raise_is_not_lost():
    ended = subprocess.run([sys.executable, "-c", IN_A_CALLBACK], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (143, "stopped.\n")


@pytest.mark.slow
@has_signals
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_that_is_ended_at_any_moment_ends_with_the_same_files(words, tmp_path):
    rng, trained, folder = random.Random(words), tmp_path / "trained", tmp_path / "whole"
    numbers = signal.SIGKILL, signal.SIGTERM, signal.SIGINT
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    train("ntuple", games=300, network="0123", iteration_games=10, out=trained)
    folder.mkdir()
    began = time.monotonic()
    subprocess.run(python_m(words, folder, trained), check=True, capture_output=True)
    seconds = time.monotonic() - began
    expected = contents(folder)
    for moment in range(10):
        folder, number = tmp_path / str(moment), rng.choice(numbers)
        folder.mkdir()
        asked = python_m(words, folder, trained)
        ended = subprocess.Popen(asked, **pipes)
        try:
            ended.wait(rng.random() * seconds)
        except subprocess.TimeoutExpired:
            ended.send_signal(number)
        messages, status = ended.communicate()[1], ended.returncode
        if "Traceback" in messages:  # of Python, before the command line answers or after it ended
            assert status in (1, -signal.SIGINT) or (not status and "ignored" in messages)
            assert "run_typed" not in messages
        else:
            assert status in (0, -number, 128 + number)
        for _ in range(2):  # a command that has come to its end may be given again, too
            again = subprocess.run(python_m(words, folder, trained), capture_output=True, text=True)
            holds_one = "export" in words and "already: give another" in again.stderr
            assert again.returncode == (2 if holds_one else 0), again.stderr
        assert contents(folder) == expected


@pytest.mark.slow
@pytest.mark.parametrize("pair", range(20))
def test_of_two_processes_in_one_folder_one_is_refused(pair, wholes, tmp_path):
    begin, folder, rivals = python_m(COMMANDS[0], tmp_path), tmp_path / "run", []
    if pair % 2:  # both resume
        subprocess.run([*begin, "--games", "500"], check=True, capture_output=True)
        begin.append("--resume")
    for _ in range(2):
        rivals.append(subprocess.Popen(begin, stderr=subprocess.PIPE, text=True))
        time.sleep(0.05 * (pair // 2))
    messages = [rival.communicate()[1] for rival in rivals]
    statuses = sorted(rival.returncode for rival in rivals)
    if statuses == [0, 2]:
        (refused,) = (m for m, r in zip(messages, rivals, strict=True) if r.returncode == 2)
        assert "is in use by another process" in refused or "holds a run already" in refused
        assert len(refused.strip().splitlines()) == 1
    else:  # one had come to its end before the other began
        assert pair % 2
        assert statuses == [0, 0]
    assert contents(folder).keys() == contents(wholes / "q").keys()
    assert content_of(folder / "checkpoint.npz") == content_of(wholes / "q" / "checkpoint.npz")
