"""Recorded games as arrays and as datasets of Minari: whole, named, and the same when replayed."""

import json
import sys

import gymnasium as gym
import numpy as np
import pytest
from commands import refused, typed
from gymnasium.envs.registration import EnvSpec

from baselines.seeds import game_seeds
from tile_envs.replay import Playthrough

minari = pytest.importorskip("minari", reason="needs tile-envs[minari]")


class Blind:
    """Plays any action, illegal ones included."""

    def __init__(self, game, seed=0): ...

    def predict(self, observation):
        """Return an action for each observation."""
        return [int(np.abs(observation).sum()) % 4 for _ in observation]


def from_npz(path):
    """Return the environment and the games, each as its seed and steps, of a file of arrays."""
    arrays = np.load(path)
    names = ("observations", "action_masks", "actions", "rewards", "terminations", "truncations")
    games = []
    for number, seed in enumerate(arrays["seeds"].tolist()):
        steps = [arrays[name][arrays["episodes"] == number] for name in names]
        for place, name in enumerate(names[:2]):
            last = arrays[f"next_{name}"][arrays["episodes"] == number]
            assert np.array_equal(steps[place][1:], last[:-1])
            steps[place] = np.concatenate((steps[place], last[-1:]))
        games.append((seed, *steps))
    return gym.make(EnvSpec.from_json(str(arrays["env_spec"]))), games, arrays["command"]


def from_minari(name):
    """Return the same of a dataset of Minari, as Minari loads it."""
    dataset = minari.load_dataset(name)
    metadata = dataset.storage.get_episode_metadata(range(len(dataset)))
    games = [
        (
            *(of["seed"], e.observations, e.infos["action_mask"]),
            *(e.actions, e.rewards, e.terminations, e.truncations),
        )
        for e, of in zip(dataset, metadata, strict=True)
    ]
    about = dataset.storage.metadata
    assert about["algorithm_name"] in ("greedy", "Blind")
    return dataset.recover_environment(), games, about["description"]


@pytest.mark.parametrize("form", ["npz", "minari"])
@pytest.mark.parametrize("agent", ["greedy", "test_datasets:Blind"])
@pytest.mark.parametrize(
    ("env_id", "env_kwargs"),
    [
        ("Tiles2048-v0", {"shape": [2, 3], "max_illegal": 3}),
        ("Tiles2584-v0", {"shape": [3, 2], "spawn": {"1": 0.75, "3": 0.25}}),
        ("TicTacToe-v0", {"side": "random", "opponent": "minimax", "max_illegal": 3}),
    ],
)
def test_a_dataset_replays_to_the_last_digit(
    env_id, env_kwargs, agent, form, tmp_path, monkeypatch
):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    out = tmp_path / "games.npz" if form == "npz" else "tiles/games-v0"
    options = ("--env", env_id, "--env-kwargs", json.dumps(env_kwargs), "--episodes", 5)
    typed("record", agent, *options, "--seed", 3, "--format", form, "--out", out)
    env, games, command = (from_npz if form == "npz" else from_minari)(out)
    assert f"record {agent} --env {env_id} --env-kwargs" in str(command)
    assert [game[0] for game in games] == game_seeds(3, 5, "recording").tolist()
    for seed, observations, masks, actions, rewards, terminations, truncations in games:
        observation, info = env.reset(seed=int(seed))
        over = False
        for t, action in enumerate(actions):
            assert not over
            assert np.array_equal(observations[t], observation)
            assert np.array_equal(masks[t], info["action_mask"])
            observation, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
            assert (reward, terminated, truncated) == (rewards[t], terminations[t], truncations[t])
        assert over
        assert np.array_equal(observations[-1], observation)
        assert np.array_equal(masks[-1], info["action_mask"])
    assert (agent == "greedy") <= (not any(game[-1].any() for game in games))


def test_a_dataset_is_whole_and_never_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    command = ("record", "random", "--env-kwargs", '{"shape": [2, 2]}', "--format", "minari")
    with monkeypatch.context() as patched:
        patched.setattr(Playthrough, "play", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            typed(*command, "--out", "tiles/random-v0")
    assert not list(tmp_path.iterdir())
    typed(*command, "--out", "tiles/random-v0")
    assert [*minari.list_local_datasets()] == ["tiles/random-v0"]
    assert "Minari has a dataset tiles/random-v0 already, in" in refused(
        *command, "--out", "tiles/random-v0"
    )
    for name in ("random", "/absolute/random-v0", "../random-v0", "ran dom-v0", "random-v", "."):
        assert "a dataset of Minari is named as 2048/greedy-v0" in refused(*command, "--out", name)
    assert "--format" in refused("record", "random", "--format", "hdf5", "--out", tmp_path)
    assert "arrays are written to .npz files, got" in refused(
        "record", "random", "--format", "npz", "--out", tmp_path
    )
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert "h5py is not installed: pip install 'tile-envs[minari]'" in refused(
        *command, "--out", "tiles/random-v1"
    )
