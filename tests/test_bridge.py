"""The bridge to Stable-Baselines3: equal to its own vector environment of single games."""

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from baselines.deep.sb3_bridge import Bridge

N = 5
GAMES = {
    "Tiles2048-v0": {"shape": (2, 3)},
    "Tiles2584-v0": {"shape": (2, 2)},
    "TicTacToe-v0": {"opponent": "random", "side": "random"},
}


def bridge(env_id="Tiles2048-v0", n=N, **env_kwargs):
    return Bridge(gym.make_vec(env_id, n, autoreset_mode="SameStep", **env_kwargs))


def single_games(env_id, **env_kwargs):
    return DummyVecEnv([lambda: Monitor(gym.make(env_id, **env_kwargs)) for _ in range(N)])


@pytest.mark.parametrize(("env_id", "env_kwargs"), GAMES.items())
def test_games_are_those_of_single_environments(env_id, env_kwargs):
    ours, theirs = bridge(env_id, **env_kwargs), single_games(env_id, **env_kwargs)
    ours.seed(11), theirs.seed(11)
    assert np.array_equal(ours.reset(), theirs.reset())
    rng, ended = np.random.default_rng(0), 0
    for _ in range(300):
        masks = np.stack(ours.env_method("action_masks"))
        assert np.array_equal(masks, np.stack(theirs.env_method("action_masks")))
        actions = (rng.random(masks.shape) * (masks + 0.01)).argmax(axis=1)  # some are illegal
        observations, rewards, ends, infos = ours.step(actions)
        expected = theirs.step(actions)
        assert np.array_equal(observations, expected[0])
        assert observations.dtype == expected[0].dtype
        assert np.array_equal(rewards, expected[1])
        assert rewards.dtype == expected[1].dtype
        assert np.array_equal(ends, expected[2])
        for info, single, over in zip(infos, expected[3], ends, strict=True):
            assert info["TimeLimit.truncated"] == single["TimeLimit.truncated"]
            assert ("episode" in info) == ("terminal_observation" in info) == over
            if over:
                ended += 1
                assert info.keys() == single.keys()
                assert np.array_equal(info["terminal_observation"], single["terminal_observation"])
                for figure in ("r", "l"):
                    assert info["episode"][figure] == single["episode"][figure]
    assert ended > 10


@pytest.mark.parametrize(("env_id", "env_kwargs"), GAMES.items())
@pytest.mark.parametrize("algorithm", [DQN, PPO, MaskablePPO])
def test_algorithms_train_on_it(env_id, env_kwargs, algorithm):
    envs = bridge(env_id, **env_kwargs)
    options = {"learning_starts": 10} if algorithm is DQN else {"n_steps": 16, "batch_size": 16}
    algorithm("MlpPolicy", envs, seed=0, **options).learn(200)


def test_masks_are_found():
    envs = bridge()
    envs.reset()
    assert is_masking_supported(envs)
    assert np.array_equal(get_action_masks(envs), envs.envs.action_masks())
    assert len(envs.env_method("action_masks", indices=[0, 3])) == 2


def test_episodes_are_told():
    envs = bridge(shape=(2, 2))
    model = PPO("MlpPolicy", envs, n_steps=16, batch_size=16, seed=0)
    returns, lengths = evaluate_policy(model, envs, 7, return_episode_rewards=True)
    assert len(returns) == len(lengths) == 7


def test_seeds_and_options_hold_for_one_reset():
    envs = bridge()
    envs.seed(3)
    first = envs.reset()
    assert not np.array_equal(envs.reset(), first)
    envs.seed(3)
    assert np.array_equal(envs.reset(), first)
    board = np.arange(16, dtype=np.uint8).reshape(4, 4) % 5
    envs.set_options({"board": board})
    assert (envs.reset() == board).all()
    assert not (envs.reset() == board).all()
    envs.set_options([{"board": board}, *[{}] * (N - 1)])
    with pytest.raises(ValueError, match="start alike: pass set_options one dictionary"):
        envs.reset()


def test_pictures_of_all_games_are_put_together():
    envs = bridge(render_mode="rgb_array", n=4)
    envs.reset()
    height, width, _ = envs.env_method("render", indices=0)[0].shape
    assert envs.render().shape == (2 * height, 2 * width, 3)


def test_a_state_is_gone_on_with():
    one, two = bridge(shape=(2, 2)), bridge(shape=(2, 2))
    one.seed(0)
    one.reset(), two.reset()
    for _ in range(5):
        one.step(np.stack(one.env_method("action_masks")).argmax(axis=1))
    two.set_state(one.get_state())
    for _ in range(40):
        actions = np.stack(one.env_method("action_masks")).argmax(axis=1)
        *_, infos = one.step(actions)
        *_, same = two.step(actions)
        for info, other in zip(infos, same, strict=True):
            assert info.get("episode", {}).get("r") == other.get("episode", {}).get("r")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gym.make("Tiles2048-v0"), "takes vector environments of tile_envs, got"),
        (lambda: gym.make_vec("CartPole-v1", 2), "takes vector environments of tile_envs, got"),
        (lambda: gym.make_vec("Tiles2048-v0", 2), 'pass autoreset_mode="SameStep" to gym.make_vec'),
    ],
)
def test_other_environments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        Bridge(make())


def test_what_games_share_cannot_be_set_for_one():
    envs = bridge()
    assert envs.get_attr("max_illegal") == [envs.envs.single.max_illegal] * N
    with pytest.raises(AttributeError):
        envs.get_attr("nothing")
    with pytest.raises(AttributeError, match="make games with another max_illegal"):
        envs.set_attr("max_illegal", 3)
    with pytest.raises(AttributeError, match="calls action_masks and render for each game"):
        envs.env_method("step", 0)
