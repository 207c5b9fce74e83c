"""The trained networks that come with the package: they play well, and are refused when damaged."""

import shutil

import numpy as np
import pytest

from baselines import evaluate, load, players
from baselines.agents import Task

OTHER = pytest.param("Tiles2584-v0", marks=pytest.mark.slow)  # compiles all once more


@pytest.mark.parametrize("env", ["Tiles2048-v0", OTHER])
def test_a_network_is_small_and_wins_nearly_every_game(env):
    game, agent = Task.of(env).game, load("strong", env=env)
    files = (players.STRONG_FOLDER / game.name).iterdir()
    assert sum(file.stat().st_size for file in files) < 5_000_000  # bytes
    row = evaluate("strong", env, episodes=100)
    assert row["reach"][game.rules.goal] >= 0.9
    assert row["agent"] == "strong"
    boards, _ = game.start.boards(np.arange(10, dtype=np.uint64))
    assert np.array_equal(agent.predict(boards)[0], agent.action_values(boards).argmax(axis=1))


@pytest.mark.parametrize("name", ["config.json", "checkpoint.npz"])
@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_damaged_files_are_named(name, damage, tmp_path, monkeypatch):
    shutil.copytree(players.STRONG_FOLDER, tmp_path / "strong")
    monkeypatch.setattr(players, "STRONG_FOLDER", tmp_path / "strong")
    file = tmp_path / "strong" / "2048" / name
    content = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=rf"\A.*strong.*{name}.*Install it again.*\Z"):
        load("strong", env="Tiles2048-v0")
