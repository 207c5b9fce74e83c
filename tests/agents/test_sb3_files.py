"""Models of Stable-Baselines3 and sb3-contrib by their files, written in another process."""

import json
import shutil

import gymnasium as gym
import numpy as np
import pytest
from commands import command, python, refused, typed

from baselines import evaluate, load
from baselines.evaluation.rows import read_rows

WRITING = """
import sys
from functools import partial
from sb3_contrib import QRDQN, MaskablePPO
from stable_baselines3 import DQN, PPO
from tile_envs.plug.sb3 import make_sb3
from tile_envs.wrappers.vector import FlatObservation, OneHotPlanes, ReplaceIllegal
def envs(*wrappers):
    return make_sb3("tile_envs:Tiles2048-v0", 4, shape=(2, 2), wrappers=wrappers)
off = {"learning_starts": 8, "buffer_size": 100, "batch_size": 8}
on = {"n_steps": 8, "batch_size": 16, "n_epochs": 1}
for kind, wrappers, how in (
    (PPO, [ReplaceIllegal, OneHotPlanes, FlatObservation], on),
    (MaskablePPO, [], on),
    (DQN, [ReplaceIllegal], off),
    (QRDQN, [ReplaceIllegal], off),
):
    model = kind("MlpPolicy", envs(*wrappers), seed=0, **how).learn(64)
    model.save(f"{sys.argv[1]}/{kind.__name__}")
    model.seed = 1
    model.save(f"{sys.argv[1]}/{kind.__name__}-1")
"""
WRAPPERS = {"MaskablePPO": (), "DQN": ("ReplaceIllegal",), "QRDQN": ("ReplaceIllegal",)}
WRAPPERS["PPO"] = ("ReplaceIllegal", "OneHotPlanes", "FlatObservation")
GAME = ("--env", "Tiles2048-v0", "--env-kwargs", '{"shape": [2, 2]}')


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    python("-c", WRITING, folder)
    return folder


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_file_plays_legal_actions_by_its_algorithm(folder, name, tmp_path):
    file, wrappers = folder / f"{name}.zip", WRAPPERS[name]
    named = ("--wrappers", *wrappers) if wrappers else ()
    done = typed("evaluate", file, *GAME, "--episodes", 20, *named)
    assert done.startswith(f"{file} ({name}) on Tiles2048-v0, shape=[2, 2]")
    typed("record", file, *GAME, *named, "--out", tmp_path / "a.npz", "--format", "npz")
    played = np.load(tmp_path / "a.npz")
    assert played["action_masks"][np.arange(len(played["actions"])), played["actions"]].all()
    typed("watch", file, *GAME, *named, "--html", tmp_path / "game.html")
    how = {"agent_kwargs": {"wrappers": wrappers}}
    row = evaluate(file, "Tiles2048-v0", {"shape": (2, 2)}, 20, **how)
    assert f"{row['mean']:,.1f}" in done


def test_a_file_answers_one_board_by_one_action(folder):
    agent = load(folder / "MaskablePPO.zip", gym.make("Tiles2048-v0", shape=(2, 2)))
    boards = np.array([[[1, 1], [0, 2]], [[1, 2], [2, 1]]], np.uint8)
    actions, _ = agent.predict(boards)
    assert [agent.predict(board)[0] for board in boards] == actions.tolist()


def test_files_are_compared_with_other_agents(folder):
    agents = (folder / "DQN.zip", folder / "QRDQN.zip", "greedy")
    said = typed("compare", *agents, *GAME, "--episodes", 20, "--wrappers", "ReplaceIllegal")
    assert all(name in said for name in ("DQN", "QRDQN", "greedy"))


def test_what_does_not_fit_is_said_in_one_line(folder, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK")
    for words, named in (
        ((tmp_path / "a.zip", *GAME), "a.zip is no model"),
        ((folder / "DQN.zip",), "Observation spaces do not match: Box(0, 17, (2, 2), uint8)"),
        ((folder / "DQN.zip", *GAME, "--wrappers", "Log2Reward"), "wrappers"),
    ):
        assert named in refused("evaluate", *words)
    with pytest.raises(ValueError, match="Observation spaces"):
        load(folder / "DQN.zip")


def test_files_are_named_by_their_paths_and_grouped_by_patterns(folder, tmp_path):
    files, out = [folder / "MaskablePPO.zip", folder / "MaskablePPO-1.zip"], tmp_path / "rows.csv"
    for name in ("compare", "evaluate"):
        typed(name, *files, *GAME, "--episodes", 5, "--out", out)
        rows = read_rows(out)
        assert [row["path"] for row in rows] == [*map(str, files)]
        assert all(row["agent"].startswith(row["path"]) for row in rows)
        typed(name, folder / "MaskablePPO*.zip", *GAME, "--episodes", 5, "--out", out)
        *rows, mean = read_rows(out)
        assert [row["train_seed"] for row in rows] == ["1", "0"]
        assert json.loads(rows[0]["settings"]) == {"n_steps": 8, "batch_size": 16, "n_epochs": 1}
        assert mean["interval_of"] == "mean"
        assert f"{folder}/none*.zip" in refused(name, folder / "none*.zip", *GAME)


@pytest.mark.parametrize(("name", "beside"), [("model.zip", "progress.csv"), ("best.zip", "a")])
def test_a_model_without_its_runs_configuration_is_not_loaded_in_silence(
    folder, tmp_path, name, beside
):
    shutil.copy(folder / "MaskablePPO.zip", tmp_path / name)
    (tmp_path / beside).touch()
    done = command("evaluate", tmp_path / name, *GAME, "--episodes", 2)
    assert done.returncode == 0
    assert "runs code" in done.stderr.splitlines()[0]
    assert "runs code" not in command("evaluate", folder / "DQN.zip").stderr
