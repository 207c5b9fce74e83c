"""Copies of trained agents for sharing: each plays as its run does, and cannot learn."""

import json
import re
import shlex
import zipfile

import gymnasium as gym
import numpy as np
import pytest
from commands import refused, typed

import tile_envs
from baselines import evaluate, evaluate_exactly, load
from baselines.agents import LEARNERS, STRONG_FOLDER, agent_class
from baselines.arrays import size_of
from baselines.commands.train import typed as given_by
from baselines.settings import read_settings
from baselines.training import run_folder as runs
from baselines.training.learner import learner_class
from baselines.training.run import config_for
from baselines.training.run_folder import Run

SMALL = ("--env", "Tiles2048-v0", "--env-kwargs", '{"shape": [2, 2]}')
NETWORK = ("--n-envs", "4", "--width", "4", "--hidden", "8", "--games", "4", *SMALL)
TINY = {
    "qtable": (
        *("--env", "Tiles2048-v0", "--preset", "small", "--games", "50", "--minutes", "5"),
        *("--n-envs", "10", "--no-merge-symmetric", "--env-kwargs", '{"shape": [2, 2]}'),
    ),
    "value_table": ("--preset", "published", "--games", "20"),
    "neural": ("--games", "200", "--n-envs", "50", "--hidden", "8", "--n-epochs", "1"),
    "ntuple": (
        *("--preset", "td", "--network", "0123 4567", "--games", "10", "--iteration-games", "5"),
        *("--minutes", "60", "--stages", "64", "128", "--seed", "3"),
    ),
    "dqn": (*NETWORK, "--buffer-size", "20000", "--learning-starts", "300", "--batch-size", "32"),
    "ppo": (*NETWORK, "--n-steps", "16", "--batch-size", "16"),
}


@pytest.fixture(autouse=True)
def _short_tests_during_training(monkeypatch):
    for name in TINY:
        monkeypatch.setattr(agent_class(name), "test_games", 2)
    monkeypatch.setattr("baselines.commands.train.GAMES", 1)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_copy_plays_alike_is_small_and_cannot_learn(name, tmp_path):
    run, copy = tmp_path / "run", tmp_path / "copy"
    check_next_steps(typed("train", name, *TINY[name], "--out", run), tmp_path)
    assert str(copy) in typed("export", run, "--out", copy, "--episodes", 5)
    there = {path.name for path in copy.iterdir()}
    assert there - {"model.zip"} == {"README.md", "checkpoint.npz", "config.json"}
    assert ("model.zip" in there) == (run / "last.zip").exists()
    files = [(at / "checkpoint.npz").stat().st_size for at in (copy, run)]
    assert files[0] <= files[1] or name == "ntuple"  # a small table is not packed in half precision
    sizes = [size_of(runs.read_checkpoint(at)) for at in (copy, run)]
    assert sizes[0] < sizes[1] if name == "ntuple" else sizes[0] <= sizes[1]
    env = json.loads((copy / "config.json").read_text())["env"]
    options = json.loads((copy / "config.json").read_text())["env_kwargs"]
    observations, _ = gym.make_vec(env, num_envs=50, **options).reset(seed=1)
    before, after = load(run).predict(observations)[0], load(copy).predict(observations)[0]
    assert np.array_equal(before, after) or name == "ntuple"  # whose weights are rounded
    refused("train", name, *TINY[name], "--out", copy, "--resume")
    check_history(run, copy, tmp_path)
    check_command(copy)
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


def check_next_steps(said, folder):
    """Check that the commands that training ends with do what they say."""
    lines = [line.partition("#") for line in said.splitlines() if "python -m" in line]
    more = {
        "watch": ("--html", folder / "game.html"),
        "evaluate": ("--out", folder / "rows.csv"),
        "plot": ("--out", folder / "curve.png"),
    }
    for typing, _, _ in lines:
        words = shlex.split(typing)[3:]
        few = () if "--exact" in words or words[0] != "evaluate" else ("--episodes", 2)
        assert typed(*words, *few, *more.pop(words[0])), words
    assert not more


def check_history(run, copy, tmp_path):
    """Check that a copy says how it was trained, and that its card's command does so again."""
    ran, copied = (json.loads((at / "config.json").read_text()) for at in (run, copy))
    exported = copied.pop("exported")
    assert copied == ran
    assert exported["version"] == ran["versions"]["tile-envs"] == tile_envs.__version__
    assert exported["games_played"] == load(run).games
    again, twice = tmp_path / "again", tmp_path / "twice"
    typed("export", copy, "--out", twice, "--episodes", 1)
    assert json.loads((twice / "config.json").read_text()) == copied | {"exported": exported}
    cards = [(at / "README.md").read_text() for at in (copy, twice)]
    assert all(f"--games {exported['games_played']}" in card for card in cards)
    commands = [re.search(r"python -m baselines (train .*)", card)[1] for card in cards]
    assert commands[0] == commands[1]
    typed(*shlex.split(commands[0]), "--out", again)
    changing = {"seconds": 0.0, "games": 0, "minutes": None, "preset": ""}
    assert json.loads((again / "config.json").read_text()) | changing == ran | changing
    before, after = runs.read_checkpoint(run), runs.read_checkpoint(again)
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


def test_the_best_model_of_a_run_is_exported_by_its_path(tmp_path):
    run, copy = tmp_path / "run", tmp_path / "copy"
    typed("train", "dqn", *TINY["dqn"], "--out", run)
    (run / "last.zip").replace(run / "other.zip")
    typed("export", run / "best.zip", "--out", copy, "--episodes", 5)
    assert json.loads((copy / "config.json").read_text())["exported"]["model"] == "best.zip"
    assert "It is `best.zip` of a run" in (copy / "README.md").read_text()
    with zipfile.ZipFile(copy / "model.zip") as ours, zipfile.ZipFile(run / "best.zip") as theirs:
        assert ours.read("policy.pth") == theirs.read("policy.pth")
    check_command(tmp_path / "copy")


def check_command(copy):
    """Check that the command on a card has the settings of the configuration, named one by one."""
    card, run = (copy / "README.md").read_text(), Run.read(copy)
    config = run.config
    name, *words = shlex.split(re.search(r"python -m baselines train (.*)", card)[1])
    learner = learner_class(name).new(config_for(name, **given_by(name, words)))
    made = learner.config
    assert learner._settings == read_settings(learner.Settings, config.settings)
    assert made.task == config.task
    assert (made.seed, made.test_every) == (config.seed, config.test_every)
    assert made.games == run.exported["games_played"]
    for option, value in vars(learner._settings).items():
        if value != getattr(learner.Settings(), option):
            assert any(word.endswith(option.replace("_", "-")) for word in words)


@pytest.mark.parametrize("game", ["2048", "2584"])
def test_the_cards_of_shipped_networks_have_the_commands_of_their_configurations(game):
    check_command(STRONG_FOLDER / game)
