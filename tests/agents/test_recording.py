"""Recorded games: the same when replayed, as arrays and as datasets, and learned from first."""

import json
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from commands import refused, typed
from gymnasium.envs.registration import EnvSpec
from players import LOWEST

from baselines.agents import Task
from baselines.deep.dqn import DQNLearner, DQNSettings
from baselines.evaluation.sampled import play
from baselines.players import make_agent
from baselines.seeds import game_seeds
from baselines.training.recording import read_transitions, record
from tile_envs.games import make
from tile_envs.plug.sb3 import make_sb3
from tile_envs.replay import Playthrough, play_through, read, replay_of, write

SHAPE = {"shape": [3, 3]}
TASK = Task("Tiles2048-v0", SHAPE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("games")
    record(make_agent("greedy", TASK.game, 0), TASK, 6, 0, path)
    return path


def learner(env_id="Tiles2048-v0", env_kwargs=SHAPE, **settings):
    small = {"width": 8, "hidden": (8,), "batch_size": 16, "learning_starts": 64}
    small |= {"n_envs": 4, "buffer_size": 5000, "replay_steps": 30}
    return DQNLearner(Task(env_id, env_kwargs).game, 0, DQNSettings(**(small | settings)))


def test_replays_and_arrays_hold_games_played_like_those_of_an_evaluation(tmp_path, monkeypatch):
    monkeypatch.setattr("baselines.training.recording.N_ENVS", 3)  # games at once
    record(LOWEST, TASK, 5, 7, tmp_path / "games")
    record(LOWEST, TASK, 5, 7, tmp_path / "games.npz", format="npz")
    arrays, replays = np.load(tmp_path / "games.npz"), (tmp_path / "games").iterdir()
    for name, values in read_transitions(tmp_path / "games", TASK.game).items():
        np.testing.assert_array_equal(arrays[name], values, name, strict=True)
    scores = [play_through(read(path)).info["score"] for path in sorted(replays)]
    same, other = (
        play(LOWEST, TASK.env, TASK.env_kwargs, episodes=5, seed=7, use=use).returns.tolist()
        for use in ("recording", "evaluation")
    )
    assert scores == same != other


def test_recorded_games_are_boards_to_begin_with(tmp_path):
    path = tmp_path / "games.npz"
    record(make_agent("greedy", TASK.game), TASK, 2, 0, path, format="npz")
    options = SHAPE | {"starts": str(path), "start_fraction": 1.0, "engine": "numpy"}
    envs = gym.make_vec(TASK.env, 50, **options)
    drawn, boards = envs.reset(seed=0)[0], np.load(path)["observations"]
    assert {board.tobytes() for board in drawn} <= {board.tobytes() for board in boards}
    assert np.array_equal(make_sb3(TASK.env, 50, seed=0, **options).reset(), drawn)
    again = gym.make_vec(EnvSpec.from_json(envs.spec.to_json()))
    assert np.array_equal(again.reset(seed=0)[0], drawn)


def test_illegal_actions_of_a_person_are_left_out(tmp_path):
    game = Playthrough(make("Tiles2048-v0", SHAPE), 3, {"board": [[1, 0, 0], [0] * 3, [0] * 3]})
    for action in (0, 0, 3, 1, 2):  # the first two change nothing
        game.play(action)
    write(replay_of(game), tmp_path / "game.json")
    played = read_transitions(tmp_path, TASK.game)
    legal = TASK.game.legal_actions(played["observations"])
    assert 0 < len(played["actions"]) < 5
    assert legal[np.arange(len(played["actions"])), played["actions"]].all()


def test_games_are_learned_from_before_any_is_played(folder):
    taught, other = learner(replays=str(folder)), learner()
    taught.prepare()
    buffer = taught.model.replay_buffer
    n = buffer.size() * 4
    assert n > 100
    found = buffer.observations[: buffer.size()].swapaxes(0, 1).reshape(n, 3, 3)
    assert np.array_equal(found, read_transitions(folder, TASK.game)["observations"][:n])
    ends = (buffer.dones + buffer.timeouts)[buffer.size() - 1]
    assert (ends > 0).all()  # an n-step return stops where another game follows
    taught.learn(), other.learn()
    assert (taught.model._n_updates, other.model._n_updates) == (30, 0)


def test_a_game_left_unfinished_is_not_continued_by_the_next_one(folder, tmp_path):
    for number, path in enumerate(sorted(folder.glob("*.json"))):
        replay = read(path)
        kept = replay.actions if number % 2 else replay.actions[:20]
        write(replace(replay, actions=kept), tmp_path / path.name)
    taught = learner(replays=str(tmp_path), n_envs=1, n_steps=3, gamma=1.0, buffer_size=20_000)
    taught.prepare()
    buffer = taught.model.replay_buffer
    games = read_transitions(tmp_path, TASK.game)["episodes"][: buffer.size()]
    for begin in range(buffer.size()):
        own = np.flatnonzero(games == games[begin])
        steps = own[(begin <= own) & (own < begin + 3)]
        sample = buffer._get_samples(np.array([begin]), None)
        assert sample.rewards.item() == buffer.rewards[steps].sum()
        following = buffer.next_observations[steps[-1], 0]
        assert np.array_equal(sample.next_observations[0], following)


def test_a_trained_agent_does_not_need_its_lessons_any_more(folder):
    taught = learner(replays=str(folder))
    taught.learn()
    again = learner(replays="gone")
    again.restore({name: array.copy() for name, array in taught.state_dict().items()})
    for _ in range(10):
        taught.learn(), again.learn()
    one, other = taught.state_dict(), again.state_dict()
    names = [name for name in one if name.startswith("policy")]
    assert all(np.array_equal(one[name], other[name]) for name in names)
    assert taught.model._n_updates > 30


def test_games_are_added_to_those_of_the_same_game_and_learned_from_in_it_alone(tmp_path):
    for seed in (0, 1, 1):
        record(LOWEST, TASK, 1, seed, tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 2
    with pytest.raises(ValueError, match="2048 on 3×3"):
        record(LOWEST, Task("Tiles2048-v0"), 1, 2, tmp_path)
    with pytest.raises(ValueError, match="2584 on 3×3"):
        learner("Tiles2584-v0", replays=str(tmp_path)).prepare()
    with pytest.raises(ValueError, match="buffer_size"):
        learner(replays=str(tmp_path), buffer_size=64).prepare()


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


BLIND = ("test_recording:Blind", "Tiles2048-v0", {"shape": [2, 3], "max_illegal": 3})
GREEDY = ("greedy", "TicTacToe-v0", {"side": "random", "opponent": "minimax", "max_illegal": 3})


@pytest.fixture
def minari(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return pytest.importorskip("minari", reason="needs tile-envs[minari]")


@pytest.mark.parametrize(("agent", "env_id", "env_kwargs"), [BLIND, GREEDY])
def test_a_dataset_replays_to_the_last_digit(env_id, env_kwargs, agent, tmp_path, minari):
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


def test_a_dataset_is_whole_and_never_replaced(tmp_path, monkeypatch, minari):
    command = ("record", "random", "--env-kwargs", '{"shape": [2, 2]}', "--format", "minari")
    with monkeypatch.context() as patched:
        patched.setattr("baselines.training.recording._trajectory", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            typed(*command, "--out", "tiles/random-v0")
    assert not list(tmp_path.iterdir())
    typed(*command, "--out", "tiles/random-v0")
    assert [*minari.list_local_datasets()] == ["tiles/random-v0"]
    for name in ("tiles/random-v0", "random", "/absolute/random-v0", "../random-v0", "."):
        assert name in refused(*command, "--out", name)
