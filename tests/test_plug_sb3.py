"""`SB3VecEnv`: equal to Stable-Baselines3's own vector environment of single games."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from tile_envs.plug.sb3 import SB3VecEnv

torch.set_num_threads(1)  # more only wait for each other with networks as small as these

N = 5
GAMES = {
    "Tiles2048-v0": {"shape": (2, 3)},
    "Tiles2584-v0": {"shape": (2, 2)},
    "TicTacToe-v0": {"opponent": "random", "side": "random"},
}


def games(env_id="Tiles2048-v0", n=N, **env_kwargs):
    return SB3VecEnv(gym.make_vec(env_id, n, autoreset_mode="SameStep", **env_kwargs))


def single_games(env_id, **env_kwargs):
    return DummyVecEnv([lambda: Monitor(gym.make(env_id, **env_kwargs)) for _ in range(N)])


def drawn(envs, rng):
    """Return an action for each game; a few are illegal."""
    masks = np.stack(envs.env_method("action_masks"))
    return (rng.random(masks.shape) * (masks + 0.01)).argmax(axis=1)


def assert_same_step(one, other):
    """Compare what two vector environments return; return how many games have ended."""
    for ours, theirs in zip(one[:3], other[:3], strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    for ours, theirs, over in zip(one[3], other[3], one[2], strict=True):
        assert ours["TimeLimit.truncated"] == theirs["TimeLimit.truncated"]
        assert ("episode" in ours) == ("terminal_observation" in ours) == over
        if over:
            assert ours.keys() == theirs.keys()
            assert np.array_equal(ours["terminal_observation"], theirs["terminal_observation"])
            for name in ("r", "l"):
                assert ours["episode"][name] == theirs["episode"][name]
    return int(one[2].sum())


@pytest.mark.parametrize(("env_id", "env_kwargs"), GAMES.items())
def test_games_are_those_of_single_environments(env_id, env_kwargs):
    ours, theirs = games(env_id, **env_kwargs), single_games(env_id, **env_kwargs)
    ours.seed(11), theirs.seed(11)
    assert np.array_equal(ours.reset(), theirs.reset())
    rng, ended = np.random.default_rng(0), 0
    for _ in range(300):
        masks = np.stack(ours.env_method("action_masks"))
        assert np.array_equal(masks, np.stack(theirs.env_method("action_masks")))
        actions = drawn(ours, rng)
        ended += assert_same_step(ours.step(actions), theirs.step(actions))
    assert ended > 10
    assert ours.episodes == ended


@pytest.mark.parametrize(("env_id", "env_kwargs"), GAMES.items())
@pytest.mark.parametrize("algorithm", [DQN, PPO, MaskablePPO])
def test_algorithms_learn_from_it_what_they_learn_from_single_environments(
    env_id, env_kwargs, algorithm
):
    """With the same seed, models end with the same weights, and have seen the same games."""
    options = {"learning_starts": 200} if algorithm is DQN else {"n_steps": 16, "batch_size": 16}
    models = []
    for envs in (games(env_id, **env_kwargs), single_games(env_id, **env_kwargs)):
        model = algorithm("MlpPolicy", envs, seed=0, device="cpu", **options)
        before = {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}
        models.append(model.learn(300))
    ours, theirs = (model.policy.state_dict() for model in models)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert not all(torch.equal(ours[name], before[name]) for name in ours)
    ours, theirs = ([(e["r"], e["l"]) for e in model.ep_info_buffer] for model in models)
    assert ours == theirs
    assert len(ours) == models[0].env.episodes > 0


def test_masks_are_found():
    envs = games()
    envs.reset()
    assert is_masking_supported(envs)
    assert np.array_equal(get_action_masks(envs), envs.envs.action_masks())
    assert len(envs.env_method("action_masks", indices=[0, 3])) == 2


def test_sb3_evaluates_a_policy_on_the_same_games():
    model = PPO("MlpPolicy", games(shape=(2, 2)), n_steps=16, batch_size=16, seed=0)
    found = []
    for envs in (games(shape=(2, 2)), single_games("Tiles2048-v0", shape=(2, 2))):
        envs.seed(4)
        found.append(evaluate_policy(model, envs, 7, return_episode_rewards=True))
    assert found[0] == found[1]
    returns, lengths = found[0]
    assert len(returns) == len(lengths) == 7
    assert len(set(lengths)) > 1


def test_seeds_and_options_hold_for_one_reset():
    envs = games()
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
    envs = games(render_mode="rgb_array", n=4)
    envs.reset()
    height, width, _ = envs.env_method("render", indices=0)[0].shape
    assert envs.render().shape == (2 * height, 2 * width, 3)


@pytest.mark.parametrize(("env_id", "env_kwargs"), GAMES.items())
def test_a_restored_state_continues_in_the_middle_of_games(env_id, env_kwargs):
    one, other = games(env_id, **env_kwargs), games(env_id, **env_kwargs)
    one.seed(0), other.seed(1)
    one.reset(), other.reset()
    rng = np.random.default_rng(0)
    while one.episodes < 3 or not one.get_state()["lengths"].any():
        one.step(drawn(one, rng))
    other.set_state(one.get_state())
    assert other.episodes == one.episodes
    before = one.episodes
    for _ in range(60):
        actions = drawn(one, rng)
        assert_same_step(one.step(actions), other.step(actions))
    assert one.episodes == other.episodes > before + 3
    one, other = one.get_state(), other.get_state()
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_state_of_other_games_is_refused():
    envs, other = games(shape=(2, 2)), games("Tiles2584-v0", shape=(2, 2))
    for each in (envs, other):
        each.seed(0)
        each.reset()
    before = envs.get_state()
    with pytest.raises(ValueError, match="expected a state of 2048 on 2×2"):
        envs.set_state(other.get_state())
    assert all(np.array_equal(before[name], envs.get_state()[name]) for name in before)


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
        SB3VecEnv(make())


def test_what_games_share_cannot_be_set_for_one():
    envs = games()
    assert envs.get_attr("max_illegal") == [100] * N
    assert envs.get_attr("game", indices=[0, 2]) == [envs.envs.game] * 2
    with pytest.raises(AttributeError):
        envs.get_attr("nothing")
    with pytest.raises(AttributeError, match="make games with another max_illegal"):
        envs.set_attr("max_illegal", 3)
    with pytest.raises(AttributeError, match="calls action_masks and render for each game"):
        envs.env_method("step", 0)
