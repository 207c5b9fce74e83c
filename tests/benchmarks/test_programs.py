"""The clients of libraries that `benchmarks` trains: what is counted, and what is left out."""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from commands import python

from baselines.evaluation.sampled import play
from benchmarks.experiments import PLUGS
from benchmarks.libraries import clients
from benchmarks.libraries.clients import CLIENTS, counted, row_of, train
from benchmarks.results import FOLDER, NAMES
from benchmarks.run import listed
from benchmarks.run import make_missing as run


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


def test_a_row_tells_the_training_and_the_play():
    client = next(client for client in CLIENTS if client.program == "cleanrl_dqn")
    arguments = {"total_timesteps": 2_000, "num_envs": 32, "batch_size": 64, "width": 8}
    row = row_of(replace(client, arguments=arguments), episodes=20)
    assert {name: row[name] for name in NAMES["plug"]} == client.name
    assert row["low"] < row["mean"] < row["high"]
    assert row["random"] > 500
    assert row["steps"] >= 2_000
    assert row["illegal_training"] == row["illegal_play"] == 0
    assert torch.tensor(1e-40) * 1 != 0, "the program flushes denormal numbers in its process alone"


def test_libraries_that_are_missing_are_left_out_with_what_installs_them(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(clients, "CLIENTS", [replace(c, package="none") for c in CLIENTS])
    _, *lines = listed(PLUGS, PLUGS, tmp_path)
    for line, library in zip(lines, PLUGS, strict=True):
        assert line.endswith(f"needs pip install -e '.[{library.extra}]'")
    run(PLUGS, PLUGS, tmp_path, tmp_path)
    assert "plug, RLlib: left out, needs pip install -e '.[rllib]'" in capsys.readouterr().out
    assert not (tmp_path / "plug.csv").exists()


def test_the_page_names_every_program():
    readme = (FOLDER.parent.parent / "README.md").read_text()
    assert all(f"`{client.program}.py`" in readme for client in CLIENTS)


EXTRAS = {library.label: library.extra for library in PLUGS}
SMALL = {"CleanRL style": {"minutes": 0.01}}
OWN_GAMES = ("PettingZoo", "OpenSpiel")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # libraries warn of themselves
@pytest.mark.parametrize(
    "client",
    [client for client in CLIENTS if client.library not in OWN_GAMES],
    ids=lambda c: f"{EXTRAS[c.library]}-{c.algorithm}-{c.env}-{c.games}",
)
def test_programs_train_without_illegal_actions(client):
    if needs := next(library.needs for library in PLUGS if library.label == client.library):
        pytest.skip(needs)
    policy, training = train(client, **SMALL.get(client.library, {"total_timesteps": 2_500}))
    assert training.steps >= 2_500
    assert training.illegal == 0
    record = play(policy, client.env, episodes=20)
    assert record.moves > 50
    assert record.illegal == 0


@pytest.mark.parametrize("name", ["cleanrl_ppo", "cleanrl_dqn", "ppo_hour"])
def test_a_program_runs_as_a_script(name):
    program = Path(clients.__file__).with_name(f"{name}.py")
    assert "mean score" in python(program, "--minutes", 0.001).stdout
