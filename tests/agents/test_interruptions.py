"""Commands that write are ended at random moments, and still end with the same files.

Slow: `pytest -m slow tests/test_interruptions.py`.
"""

import csv
import json
import random
import re
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals")]

MOMENTS = 10
"""Moments at which each command is ended."""
SIGNALS = (getattr(signal, "SIGKILL", None), signal.SIGTERM, signal.SIGINT)
TIMES = {"seconds", "moves_per_second", "environment_share"}
"""What no two runs have in common."""
SMALL_DEEP = "--games 120 --width 4 --hidden 8 --n-envs 4 --shape 2 2"
LEARNERS = {
    "qtable": "--games 3000 --n-envs 100",
    "value_table": "--games 3000 --n-envs 50",
    "neural": "--preset published --games 20000",
    "ntuple": "--network 0123 --games 300 --iteration-games 10",
    "dqn": f"--buffer-size 5000 --learning-starts 64 --batch-size 32 {SMALL_DEEP}",
    "ppo": f"--n-steps 16 --batch-size 16 {SMALL_DEEP}",
}


def python_m(*words):
    return [sys.executable, "-m", *map(str, words)]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "run"
    training = python_m(*f"baselines train ntuple {LEARNERS['ntuple']} --out".split(), folder)
    subprocess.run(training, check=True, capture_output=True)
    return folder


COMMANDS = {
    **{
        f"train {name}": f"baselines train {name} {options} --out FOLDER/run"
        for name, options in LEARNERS.items()
    },
    "evaluate": "baselines evaluate TRAINED --episodes 50 --out FOLDER/rows.csv",
    "record": "baselines record TRAINED --episodes 5 --out FOLDER/games",
    "export": "baselines export TRAINED --out FOLDER/small",
    "benchmarks": "benchmarks run --quick --only exact agents/greedy"
    " --results FOLDER/results --runs FOLDER/runs",
}


def made(name, trained, folder):
    """Return a command that writes to a folder, or goes on with the run that is begun there."""
    places = {"TRAINED": trained, "FOLDER": folder}
    words = COMMANDS[name].split()
    words = [re.sub("^(TRAINED|FOLDER)", lambda m: str(places[m[0]]), word) for word in words]
    begun = (folder / "run" / "config.json").exists()
    return python_m(*words, *["--resume"] * begun)


def content_of(path):
    """Return what a file says, but for times."""
    if path.suffix == ".csv":
        rows = csv.DictReader(path.read_text().splitlines())
        return [{name: cell for name, cell in row.items() if name not in TIMES} for row in rows]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in ("policy.pth", "policy.optimizer.pth")}
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: array.tobytes() for name, array in arrays.items()}
    if path.suffix == ".json":
        return {k: v for k, v in json.loads(path.read_text()).items() if k not in TIMES}
    return path.read_bytes()


def contents(folder):
    paths = [path for path in folder.rglob("*") if path.is_file() and "tfevents" not in path.name]
    return {str(path.relative_to(folder)): content_of(path) for path in paths}


def ended_at(command, moment, number):
    """Run a command, and send it a signal after some seconds; return its status and messages."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    _, messages = process.communicate()
    return process.returncode, messages.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_ended_at_any_moment_ends_with_the_same_files(name, trained, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    began = time.monotonic()
    subprocess.run(made(name, trained, whole), check=True, capture_output=True)
    seconds = time.monotonic() - began
    expected = contents(whole)
    rng = random.Random(name)
    for moment in range(MOMENTS):
        folder = tmp_path / str(moment)
        folder.mkdir()
        number = rng.choice(SIGNALS)
        status, messages = ended_at(made(name, trained, folder), rng.random() * seconds, number)
        if "Traceback" in messages:  # of Python, before the command line answers
            assert status in (1, -signal.SIGINT)
            assert "run_typed" not in messages
        else:
            assert status in (0, -number, 128 + number)
        for _ in range(2):  # a command that has come to its end may be given again, too
            again = subprocess.run(made(name, trained, folder), capture_output=True, text=True)
            holds_one = name == "export" and "holds a run already" in again.stderr
            assert again.returncode == (2 if holds_one else 0), again.stderr
        assert contents(folder) == expected


@pytest.mark.parametrize("pair", range(20))
def test_of_two_processes_in_one_folder_one_is_refused(pair, tmp_path):
    folder = tmp_path / "run"
    train = f"baselines train qtable {LEARNERS['qtable']} --out".split()
    subprocess.run(python_m(*train, tmp_path / "whole"), check=True, capture_output=True)
    begin = python_m(*train, folder)
    if pair % 2:  # both resume
        subprocess.run([*begin, "--games", "500"], check=True, capture_output=True)
        begin.append("--resume")
    rivals = [subprocess.Popen(begin, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    time.sleep(0.05 * (pair // 2))
    messages = [rival.communicate()[1] for rival in rivals]
    statuses = sorted(rival.returncode for rival in rivals)
    if statuses == [0, 2]:
        (refused,) = (m for m, r in zip(messages, rivals, strict=True) if r.returncode == 2)
        assert "is in use by process" in refused or "holds a run already" in refused
        assert len(refused.strip().splitlines()) == 1
    else:  # one had come to its end before the other began
        assert pair % 2
        assert statuses == [0, 0]
    ours, theirs = contents(folder), contents(tmp_path / "whole")
    assert ours.keys() == theirs.keys()
    assert ours["checkpoint.npz"] == theirs["checkpoint.npz"]
