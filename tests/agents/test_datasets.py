"""Recorded games as arrays and as datasets of Minari: the same when replayed, named, whole."""

import json
import sys

import gymnasium as gym
import numpy as np
import pytest
from commands import refused, typed
from gymnasium.envs.registration import EnvSpec

from baselines.seeds import game_seeds

minari = pytest.importorskip("minari", reason="needs tile-envs[minari]")


class Blind:
    """Plays any action, illegal ones included."""

    def __init__(self, game, seed=0): ...

    def predict(self, observation):
        return [int(np.abs(observation).sum()) % 4 for _ in observation]


def replayed(env, seed, actions):
    """Return observations, masks, rewards and ends of a game."""
    observation, info = env.reset(seed=int(seed))
    states, ends = [(observation, info["action_mask"])], []
    for action in actions:
        assert not any(ends[-1][1:] if ends else ())
        observation, *end, info = env.step(action)
        states.append((observation, info["action_mask"]))
        ends.append(end)
    return (*map(np.array, zip(*states, strict=True)), *map(np.array, zip(*ends, strict=True)))


def from_npz(path):
    """Yield the seed, the actions and what was `replayed` of each game."""
    arrays = np.load(path)
    for number, seed in enumerate(arrays["seeds"]):
        game = {name: arrays[name][arrays["episodes"] == number] for name in [*arrays][:-4]}
        states = []
        for name in ("observations", "action_masks"):
            states.append(np.concatenate((game[name][:1], game[f"next_{name}"])))
            assert np.array_equal(states[-1][:-1], game[name])
        ends = (game[name] for name in ("rewards", "terminations", "truncations"))
        yield seed, game["actions"], *states, *ends


def from_minari(dataset):
    """Yield the same of a dataset."""
    metadata = dataset.storage.get_episode_metadata(range(len(dataset)))
    for of, game in zip(metadata, dataset, strict=True):
        states = game.observations, game.infos["action_mask"]
        yield of["seed"], game.actions, *states, game.rewards, game.terminations, game.truncations


@pytest.mark.parametrize("agent", ["greedy", "test_datasets:Blind"])
@pytest.mark.parametrize(
    ("env_id", "env_kwargs"),
    [
        ("Tiles2048-v0", {"shape": [2, 3], "max_illegal": 3}),
        ("Tiles2584-v0", {"shape": [3, 2], "spawn": {"1": 0.75, "3": 0.25}}),
        ("TicTacToe-v0", {"side": "random", "opponent": "minimax", "max_illegal": 3}),
    ],
)
def test_a_dataset_replays_to_the_last_digit(env_id, env_kwargs, agent, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    file = tmp_path / "games.npz"
    command = ("record", agent, "--env", env_id, "--env-kwargs", json.dumps(env_kwargs))
    for form, out in (("npz", file), ("minari", "tiles/games-v0")):
        typed(*command, "--episodes", 5, "--seed", 3, "--format", form, "--out", out)
    arrays, dataset = np.load(file), minari.load_dataset("tiles/games-v0")
    about = dataset.storage.metadata
    assert about["algorithm_name"] == arrays["algorithm_name"] == agent.rpartition(":")[2]
    for text in (str(arrays["command"]), about["description"]):
        assert f"python -m baselines record {agent} --env {env_id}" in text
    made = gym.make(EnvSpec.from_json(str(arrays["env_spec"])))
    games = [(made, *game) for game in from_npz(file)]
    games += [(dataset.recover_environment(), *game) for game in from_minari(dataset)]
    assert [game[1] for game in games] == 2 * game_seeds(3, 5, "recording").tolist()
    for env, seed, actions, *recorded in games:
        assert recorded[-1][-1] or recorded[-2][-1]
        for ours, theirs in zip(recorded, replayed(env, seed, actions), strict=True):
            assert np.array_equal(ours, theirs)
    assert (agent == "greedy") <= (not any(game[-1].any() for game in games))


def test_a_dataset_is_whole_and_never_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    command = ("record", "random", "--env-kwargs", '{"shape": [2, 2]}', "--format", "minari")
    with monkeypatch.context() as patched:
        patched.setattr("baselines.training.recording._keep", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            typed(*command, "--out", "tiles/random-v0")
    assert not list(tmp_path.iterdir())
    typed(*command, "--out", "tiles/random-v0")
    assert [*minari.list_local_datasets()] == ["tiles/random-v0"]
    assert "tiles/random-v0 already" in refused(*command, "--out", "tiles/random-v0")
    for name in ("random", "/absolute/random-v0", "../random-v0", "ran dom-v0", "random-v", "."):
        assert "is named as" in refused(*command, "--out", name)
    assert ".npz" in refused(*command[:-1], "npz", "--out", tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert "pip install -e '.[minari]'" in refused(*command, "--out", "tiles/random-v1")
