"""Copies of trained agents for sharing: each plays as its run does, and cannot learn."""

import json
import re
import zipfile

import gymnasium as gym
import numpy as np
import pytest
from commands import refused, typed

from baselines import evaluate, evaluate_exactly, load
from baselines.registry import LEARNERS, agent_class

SMALL = ("--env", "Tiles2048-v0", "--env-kwargs", '{"shape": [2, 2]}')
NETWORK = ("--n-envs", "4", "--width", "4", "--hidden", "8", "--games", "4", *SMALL)
TINY = {
    "qtable": ("--games", "50", "--n-envs", "10"),
    "value_table": ("--preset", "published", "--games", "20"),
    "neural": ("--games", "200", "--n-envs", "50", "--hidden", "8", "--n-epochs", "1"),
    "ntuple": ("--network", "0123 4567", "--games", "10", "--iteration-games", "5"),
    "dqn": (*NETWORK, "--buffer-size", "20000", "--learning-starts", "300"),
    "ppo": (*NETWORK, "--n-steps", "16", "--batch-size", "16"),
    "article": (
        *("--games", "4", "--iteration-games", "2", "--learning-starts", "50", "--newest", "20"),
        *("--others", "20", "--n-epochs", "1", "--score-games", "2", "--confirmations", "1"),
        *("--batch-size", "20", "--threads", "1", "--precision", "float32"),
    ),
}


@pytest.fixture(autouse=True)
def _short_tests_during_training(monkeypatch):
    for name in TINY:
        monkeypatch.setattr(agent_class(name), "test_games", 2)
    monkeypatch.setattr("baselines.commands.train.GAMES", 1)


def test_every_learner_is_here():
    assert set(TINY) == set(LEARNERS)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_copy_plays_alike_is_small_and_cannot_learn(name, tmp_path):
    run, copy = tmp_path / "run", tmp_path / "copy"
    typed("train", name, *TINY[name], "--out", run)
    assert str(copy) in typed("export", run, "--out", copy, "--episodes", 5)
    there = {path.name for path in copy.iterdir()}
    assert there - {"model.zip"} == {"README.md", "checkpoint.npz", "config.json"}
    assert ("model.zip" in there) == (run / "last.zip").exists()
    sizes = [sum(path.stat().st_size for path in at.iterdir()) for at in (copy, run)]
    assert sizes[0] < sizes[1]
    env = json.loads((copy / "config.json").read_text())["env"]
    options = json.loads((copy / "config.json").read_text())["env_kwargs"]
    observations, _ = gym.make_vec(env, num_envs=50, **options).reset(seed=1)
    before, after = load(run).predict(observations)[0], load(copy).predict(observations)[0]
    assert np.array_equal(before, after) or name == "ntuple"  # whose weights are rounded
    refused("train", name, *TINY[name], "--out", copy, "--resume")
    card = (copy / "README.md").read_text()
    code = re.search(r"```python\n(.*)```", card, re.DOTALL)[1].replace("FOLDER", str(copy))
    names = {}
    exec(code.replace("episodes=5", "episodes=1"), names)
    assert len(names["actions"]) == 8
    value = float(re.search(r"value: ([\d.]+)", card)[1])
    if env == "TicTacToe-v0":
        row = evaluate_exactly(load(copy), env, {"side": "X"})
        assert value == pytest.approx(row["win"], abs=1e-4)
    else:
        assert value == pytest.approx(evaluate(load(copy), env, options, 5)["mean"], abs=0.1)


def test_the_best_model_of_a_run_is_exported_by_its_path(tmp_path):
    run, copy = tmp_path / "run", tmp_path / "copy"
    typed("train", "dqn", *TINY["dqn"], "--out", run)
    (run / "last.zip").replace(run / "other.zip")
    typed("export", run / "best.zip", "--out", copy, "--episodes", 5)
    with zipfile.ZipFile(copy / "model.zip") as ours, zipfile.ZipFile(run / "best.zip") as theirs:
        assert ours.read("policy.pth") == theirs.read("policy.pth")
