"""The trained networks that come with the package: they play well, and are refused when damaged."""

import shutil

import numpy as np
import pytest
from commands import typed

from baselines import evaluate, load, players
from baselines.agents import Task

ENVS = ["Tiles2048-v0", "Tiles2584-v0"]
LIMIT = 5_000_000
"""The bytes that each may take."""


@pytest.mark.parametrize("env", ENVS)
def test_a_network_is_small_and_wins_nearly_every_game(env):
    game = Task.of(env).game
    files = list((players.STRONG_FOLDER / game.name).iterdir())
    assert sum(file.stat().st_size for file in files) < LIMIT
    row = evaluate("strong", env, episodes=100)
    assert row["reach"][game.rules.goal] >= 0.9
    assert row["agent"] == "strong"


@pytest.mark.parametrize("env", ENVS)
def test_it_is_loaded_by_its_name_and_searches(env):
    agent, game = load("strong", env=env), Task.of(env).game
    boards, _ = game.start.boards(np.arange(10, dtype=np.uint64))
    assert np.array_equal(agent.predict(boards)[0], agent.action_values(boards).argmax(axis=1))
    assert evaluate("strong", env, episodes=2, search=2)["mean"] > 0


def test_it_is_known_on_the_command_line():
    assert "strong on Tiles2048-v0" in typed("evaluate", "strong", "--episodes", 3)


@pytest.mark.parametrize("name", ["config.json", "checkpoint.npz"])
@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_damaged_files_are_named_in_one_line(name, damage, tmp_path, monkeypatch):
    shutil.copytree(players.STRONG_FOLDER, tmp_path / "strong")
    monkeypatch.setattr(players, "STRONG_FOLDER", tmp_path / "strong")
    file = tmp_path / "strong" / "2048" / name
    content = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=rf"(?s)strong.*{name}.*Install it again") as error:
        load("strong", env="Tiles2048-v0")
    assert "\n" not in str(error.value)
