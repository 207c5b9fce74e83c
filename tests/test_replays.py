"""Games in files as lessons: recorded, read back as they were played, learned from first."""

import gymnasium as gym
import numpy as np
import pytest
from baselines.evaluate import play
from baselines.replays import read_transitions, record
from baselines.roster import make_agent
from tile_envs.play.game import Game, make
from tile_envs.play.replay import play_through, read, replay_of, write

from baselines.deep.dqn import DQNLearner, DQNSettings

SHAPE = {"shape": (3, 3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("games")
    record(make_agent("greedy", "Tiles2048-v0", SHAPE, seed=0), "Tiles2048-v0", SHAPE, 6, 0, path)
    return path


def learner(env_id="Tiles2048-v0", env_kwargs=SHAPE, **settings):
    small = {"width": 8, "hidden": (8,), "batch": 16, "warm_up": 64, "threads": 1}
    small |= {"games_at_once": 4, "memory": 5000, "replay_steps": 30}
    return DQNLearner(gym.make(env_id, **env_kwargs), (), DQNSettings(**(small | settings)), 0)


def test_recorded_games_are_those_of_the_judge(folder):
    assert len(list(folder.glob("*.json"))) == 6
    again = folder.parent / "again"
    trained = learner()
    record(trained, "Tiles2048-v0", SHAPE, 3, 5, again)
    played = [play_through(read(again / f"5-{n}.json")).info["score"] for n in range(3)]
    judged = play(trained, "Tiles2048-v0", SHAPE, episodes=3, seed=5).returns
    assert played == judged.tolist()


def test_transitions_are_what_was_played(folder):
    env = gym.make("Tiles2048-v0", **SHAPE)
    played = read_transitions(folder, env)
    after, rewards, masks = env.unwrapped.afterstates(played.boards)
    place = np.arange(len(played.actions)), played.actions
    assert masks[place].all()
    assert np.array_equal(rewards[place], played.rewards)
    assert ((played.following != after[place]).reshape(len(played.actions), -1).sum(1) == 1).all()
    assert played.over.sum() == 6
    assert np.array_equal(played.over, ~env.unwrapped.legal_actions(played.following).any(axis=1))


def test_illegal_actions_of_a_person_are_left_out(tmp_path):
    game = Game(make("Tiles2048-v0", {"shape": (2, 2)}), 3, {"board": [[1, 0], [0, 0]]})
    for action in (0, 0, 3, 1, 2):  # the first two change nothing
        game.play(action)
    write(replay_of(game), tmp_path / "game.json")
    env = gym.make("Tiles2048-v0", shape=(2, 2))
    played = read_transitions(tmp_path, env)
    legal = env.unwrapped.legal_actions(played.boards)
    assert len(played.actions) < 5
    assert legal[np.arange(len(played.actions)), played.actions].all()


def test_games_are_learned_from_before_any_is_played(folder):
    taught, other = learner(replays=str(folder)), learner()
    taught.prepare()
    buffer = taught.model.replay_buffer
    n = buffer.size() * 4
    found = buffer.observations[: buffer.size()].swapaxes(0, 1).reshape(n, 3, 3)
    played = read_transitions(folder, gym.make("Tiles2048-v0", **SHAPE))
    assert np.array_equal(found, played.boards[:n])
    ends = (buffer.dones + buffer.timeouts)[buffer.size() - 1]
    assert (ends > 0).all()  # an n-step return stops where another game follows
    taught.learn()
    other.learn()
    assert taught.model._n_updates == 30
    assert other.model._n_updates == 0


def test_a_trained_agent_does_not_need_its_lessons_any_more(folder):
    taught = learner(replays=str(folder))
    taught.learn()
    again = learner(replays="gone")
    again.restore({name: array.copy() for name, array in taught.state().items()})
    for _ in range(20):
        taught.learn(), again.learn()
    one, other = taught.state(), again.state()
    assert all(np.array_equal(one[n], other[n]) for n in one if n.startswith("policy"))


@pytest.mark.parametrize(
    ("make_learner", "message"),
    [
        (lambda _: learner(replays="/nowhere"), r"/nowhere holds no replays \(\*\.json\)"),
        (
            lambda folder: learner("Tiles2584-v0", replays=str(folder)),
            "is a game of Tiles2048-v0 on .3, 3., expected one of Tiles2584-v0",
        ),
        (
            lambda folder: learner(env_kwargs={}, replays=str(folder)),
            "on .3, 3., expected one of Tiles2048-v0 on .4, 4.",
        ),
        (
            lambda folder: learner(memory=64, replays=str(folder)),
            "transitions, expected from 4 .games_at_once. to less than 64",
        ),
    ],
)
def test_unusable_lessons_are_named(folder, make_learner, message):
    with pytest.raises(ValueError, match=message):
        make_learner(folder).prepare()


def test_a_damaged_replay_is_named(tmp_path):
    (tmp_path / "game.json").write_text("{")
    with pytest.raises(ValueError, match=r"game\.json: not a replay"):
        read_transitions(tmp_path, gym.make("Tiles2048-v0"))
