"""Copies of trained agents for sharing: each plays as its run does, and cannot learn."""

import json
import re
import shlex
import zipfile

import gymnasium as gym
import numpy as np
import pytest
import yaml
from commands import refused, typed
from same import contents

import tile_envs
from baselines import evaluate, evaluate_exactly, load
from baselines.agents import LEARNERS, STRONG_FOLDER
from baselines.arrays import size_of
from baselines.commands.train import typed as given_by
from baselines.evaluation.sampled import QUANTILES
from baselines.settings import read_settings
from baselines.training import run_folder as runs
from baselines.training.learner import learner_class
from baselines.training.run import config_for
from baselines.training.run_folder import Run

SMALL = """--test-games 2 --env Tiles2048-v0 --env-kwargs '{"shape": [2, 2]}'"""
DEEP = f"{SMALL} --n-envs 4 --width 4 --hidden 8 --games 4"
TINY = {
    "qtable": f"{SMALL} --preset small --games 50 --minutes 5 --n-envs 10 --no-merge-symmetric",
    "value_table": "--preset published --games 20",
    "neural": "--games 200 --n-envs 50 --hidden 8 --n-epochs 1",
    "ntuple": "--test-games 2 --preset td --network '0123 4567' --games 10 --iteration-games 5"
    " --minutes 60 --stages 64 128 --seed 3",
    "dqn": f"{DEEP} --buffer-size 20000 --learning-starts 300 --batch-size 32",
    "ppo": f"{DEEP} --n-steps 16 --batch-size 16",
}


@pytest.fixture(scope="module", params=LEARNERS)
def exported(request, tmp_path_factory):
    """Return an agent's name, the folder of its run, and that of the copy."""
    name, folder = request.param, tmp_path_factory.mktemp("exported")
    typed("train", name, *shlex.split(TINY[name]), "--out", folder / "run")
    typed("export", folder / "run", "--out", folder / "copy", "--games", 5)
    return name, folder / "run", folder / "copy"


def config_of(folder):
    return json.loads((folder / "config.json").read_text())


def command_of(folder):
    card = (folder / "README.md").read_text()
    return shlex.split(re.search(r"python -m baselines train (.*)", card)[1])


def test_a_copy_plays_alike_is_small_and_cannot_learn(exported):
    name, run, copy = exported
    usual = {"README.md", "checkpoint.npz", "config.json", "replay.mp4"}
    there = {path.name for path in copy.iterdir()} - usual
    assert there == ({"model.zip"} if (run / "last.zip").exists() else set())
    sizes = [size_of(runs.read_checkpoint(at)) for at in (copy, run)]
    assert sizes[0] < sizes[1] if name == "ntuple" else sizes[0] <= sizes[1]
    task = Run.read(copy).config.task
    observations, _ = gym.make_vec(task.env, num_envs=50, **task.env_kwargs).reset(seed=1)
    before, after = load(run).predict(observations)[0], load(copy).predict(observations)[0]
    assert np.array_equal(before, after) or name == "ntuple"  # whose weights are rounded
    refused("train", name, *shlex.split(TINY[name]), "--out", copy, "--resume")


def test_a_card_has_code_that_plays_and_the_mean_of_its_games(exported):
    _, _, copy = exported
    card, task = (copy / "README.md").read_text(), Run.read(copy).config.task
    code, names = re.search(r"```python\n(.*)```", card, re.DOTALL)[1], {}
    exec(code.replace("FOLDER", str(copy)).replace("episodes=5", "episodes=1"), names)
    assert len(names["actions"]) == 8
    header = yaml.safe_load(card.split("---")[1])
    metric, *_ = header["model-index"][0]["results"][0]["metrics"]
    mean, deviation = map(float, metric["value"].split(" +/- "))
    if task.sides:
        exact = evaluate_exactly(load(copy), task.env, {"side": "X"})
        outcomes = [(1, exact["win"]), (0, exact["draw"]), (-1, exact["loss"])]
    else:
        row = evaluate(copy, episodes=5)
        scores = np.interp(np.linspace(0, 1, 5), QUANTILES, row["quantiles"])
        outcomes = [(score, 1 / 5) for score in scores]
    expected = sum(p * value for value, p in outcomes)
    assert mean == pytest.approx(expected, abs=0.01)
    assert deviation**2 == pytest.approx(
        sum(p * (v - expected) ** 2 for v, p in outcomes), rel=1e-3, abs=0.01
    )
    assert {task.env, "reinforcement-learning"} < {*header["tags"]}
    assert header["license"] == "mit"


def test_a_copy_says_how_it_was_trained_and_the_command_on_its_card_does_so(exported, tmp_path):
    _, run, copy = exported
    said = config_of(copy)
    exported = said.pop("exported")
    assert said == config_of(run)
    assert exported["version"] == said["versions"]["tile-envs"] == tile_envs.__version__
    assert exported["games_played"] == load(run).games
    typed("train", *command_of(copy), "--out", tmp_path / "again")
    changing = {"seconds": 0.0, "games": exported["games_played"], "minutes": None, "preset": ""}
    assert config_of(tmp_path / "again") | changing == said | changing
    before, after = (contents(at)["checkpoint.npz"] for at in (run, tmp_path / "again"))
    assert before == after


@pytest.mark.parametrize("game", ["2048", "2584"])
def test_the_cards_of_shipped_networks_have_the_commands_of_their_configurations(game):
    run, (name, *words) = Run.read(STRONG_FOLDER / game), command_of(STRONG_FOLDER / game)
    learner = learner_class(name).new(config_for(name, **given_by(name, words)))
    made, config = learner.config, run.config
    assert learner._settings == read_settings(learner.Settings, config.settings)
    assert (made.task, made.games) == (config.task, run.exported["games_played"])
    assert (made.seed, made.test_every) == (config.seed, config.test_every)


def test_the_best_model_of_a_run_is_exported_by_its_path(tmp_path):
    run, copy = tmp_path / "run", tmp_path / "copy"
    typed("train", "dqn", *shlex.split(TINY["dqn"]), "--out", run)
    (run / "last.zip").unlink()
    typed("export", run / "best.zip", "--out", copy, "--games", 5)
    assert config_of(copy)["exported"]["model"] == "best.zip"
    with zipfile.ZipFile(copy / "model.zip") as ours, zipfile.ZipFile(run / "best.zip") as theirs:
        assert ours.read("policy.pth") == theirs.read("policy.pth")
