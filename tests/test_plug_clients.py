"""The clients of libraries that `benchmarks` trains: what is counted, and what is left out."""

import gymnasium as gym
import numpy as np
import pytest

from baselines.registry import make_agent
from baselines.task import Task
from benchmarks.experiments import PLUGS
from benchmarks.libraries import clients
from benchmarks.libraries.clients import Client, Training
from benchmarks.libraries.counting import counted
from benchmarks.libraries.training import trained_row
from benchmarks.results import KEYS
from benchmarks.run import listed, run

CLIENT = Client("Ours", "numpy", "numpy", "greedy", "Tiles2048-v0", "native", "SameStep")


@pytest.mark.parametrize("mode", [None, "NextStep", "SameStep"])
def test_steps_and_illegal_actions_are_counted(mode):
    """With at most two illegal actions in a row, so that illegal ones end games, too."""
    rng, n, illegal = np.random.default_rng(0), 4, 0
    with counted() as count:
        if mode is None:
            env = gym.make("Tiles2048-v0", max_illegal=2)
            for _ in range(20):
                env.reset()
                over = False
                while not over:
                    action = int(rng.integers(4))
                    illegal += not env.unwrapped.action_masks()[action]
                    _, _, terminated, truncated, _ = env.step(action)
                    over = terminated or truncated
        else:
            envs = gym.make_vec("Tiles2048-v0", n, autoreset_mode=mode, max_illegal=2)
            envs.reset()
            over = np.zeros(n, np.bool_)
            for _ in range(200):
                actions = rng.integers(4, size=n)
                illegal += int((~envs.action_masks()[np.arange(n), actions] & ~over).sum())
                _, _, terminations, truncations, _ = envs.step(actions)
                over = (terminations | truncations) & (mode == "NextStep")
            assert count.steps == 200 * n
    assert count.illegal == illegal > 20
    gym.make_vec("Tiles2048-v0").reset()
    assert count.illegal == illegal


@pytest.mark.parametrize("elsewhere", [None, Training(1000, 2.5, 3)])
def test_a_row_tells_the_training_and_the_play(elsewhere):
    def train(client):
        assert client is CLIENT
        env = gym.make("Tiles2048-v0")
        env.reset()
        env.step(env.action_space.sample(env.unwrapped.action_masks().astype(np.int8)))
        return make_agent("greedy", Task.of("Tiles2048-v0").game), elsewhere

    row = trained_row(CLIENT, train, episodes=20)
    assert {name: row[name] for name in KEYS["plug"]} == CLIENT.key
    assert row["mean"] > row["random"] > 500
    assert row["low"] < row["mean"] < row["high"]
    assert (row["steps"], row["illegal_training"]) == ((1000, 3) if elsewhere else (1, 0))
    assert row["illegal_play"] == 0


def test_libraries_that_are_missing_are_left_out_with_what_installs_them(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(clients, "find_spec", lambda name: None)
    _, *lines = listed(PLUGS, PLUGS, tmp_path)
    for line, each in zip(lines, PLUGS, strict=True):
        assert line.endswith(f"needs pip install 'tile-envs[{each.extra}]'")
    run(PLUGS, PLUGS, tmp_path, tmp_path)
    assert "plug, RLlib: left out, needs pip install 'tile-envs[rllib]'" in capsys.readouterr().out
    assert not (tmp_path / "plug.csv").exists()


@pytest.mark.parametrize("each", PLUGS, ids=lambda each: each.label)
def test_clients_have_names_of_their_own(each, monkeypatch):
    monkeypatch.setattr(clients, "find_spec", lambda name: name)
    from importlib import import_module

    keys = import_module(each.path).keys(**each.options)
    named = [tuple(key[column] for column in KEYS["plug"]) for key in keys]
    assert len(set(named)) == len(named) > 0
    assert {key["measure"] for key in keys} == set(each.measures)
