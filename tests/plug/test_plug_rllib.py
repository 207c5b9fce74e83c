"""`masked`: games as RLlib's module with action masks takes them, alone or many at once."""

import gymnasium as gym
import numpy as np
import pytest

from tile_envs.plug.rllib import games, masked

pytestmark = pytest.mark.filterwarnings(
    # RLlib registers each environment under the same id.
    "ignore:.*Overriding environment rllib-single-agent-env-v0:UserWarning"
)

N = 4


@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "TicTacToe-v0"])
def test_observations_are_flat_and_beside_float_masks(env_id):
    one, many = masked(gym.make(env_id)), masked(gym.make_vec(env_id, N))
    assert one.observation_space == many.single_observation_space
    spaces = one.observation_space
    assert spaces["observations"].dtype == spaces["action_mask"].dtype == np.float32
    observation, info = one.reset(seed=3)
    observations, infos = many.reset(seed=3)
    assert many.observation_space.contains(observations)
    assert np.array_equal(observation["action_mask"], info["action_mask"])
    assert np.array_equal(observations["action_mask"], infos["action_mask"])
    for name in observation:
        assert np.array_equal(observation[name], observations[name][0])


def test_games_are_single_unless_a_number_is_asked_for():
    creator = games("Tiles2048-v0", wrappers=["Log2Reward", "OneHotPlanes"], shape=(2, 3))
    one, many = creator({}), creator({"num_envs": N})
    assert many.num_envs == N
    assert one.observation_space == many.single_observation_space
    assert one.observation_space["observations"].shape == (18 * 2 * 3,)
    assert creator({"shape": (2, 2)}).observation_space["observations"].shape == (18 * 2 * 2,)
    _, info = one.reset(seed=0)
    many.reset(seed=0)
    while info["action_mask"].any():
        action = info["action_mask"].argmax()
        _, reward, *_, info = one.step(action)
        assert reward == many.step(np.full(N, action))[1][0]


@pytest.fixture(scope="module")
def rllib():
    """RLlib's algorithms and environment runners in this process, and its workers in others."""
    ray = pytest.importorskip("ray", reason="needs tile-envs[rllib]")
    pytest.importorskip("ray.rllib", reason="needs tile-envs[rllib]")
    import torch

    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    options = {"include_dashboard": False, "object_store_memory": 200e6}
    ray.init(num_cpus=2, ignore_reinit_error=True, **options)  # a program may have begun it
    yield ray.rllib
    ray.shutdown()


def runner_of(kind, env_id="Tiles2048-v0", **options):
    """An environment runner in this process; its module and its games have the same seed."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
    from ray.tune.registry import register_env

    register_env("games", games(env_id, wrappers=["OneHotPlanes"], **options))
    config = PPOConfig().environment("games").debugging(seed=5)
    way = "vector_entry_point" if kind == "native" else "sync"
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=N, gym_env_vectorize_mode=way)
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
    return SingleAgentEnvRunner(config=config, worker_index=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "options"),
    [("Tiles2048-v0", {"shape": (2, 3)}), ("TicTacToe-v0", {"side": "random"})],
)
def test_rllib_plays_the_same_episodes_in_native_and_in_single_environments(rllib, env_id, options):
    runners = [runner_of(kind, env_id, **options) for kind in ("native", "single")]
    sampled = [runner.sample(num_timesteps=400) for runner in runners]
    assert sum(episode.is_done for episode in sampled[0]) > 5
    for ours, theirs in zip(*sampled, strict=True):
        assert (len(ours), ours.is_terminated) == (len(theirs), theirs.is_terminated)
        assert np.array_equal(ours.get_actions(), theirs.get_actions())
        assert np.array_equal(ours.get_rewards(), theirs.get_rewards())
        assert not any(info["illegal"] for info in ours.get_infos()[1:])
        for name, observations in ours.get_observations().items():
            assert np.array_equal(observations, theirs.get_observations()[name])
