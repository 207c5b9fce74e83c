"""Tianshou: its collectors over single games, with masks."""

from functools import partial

import gymnasium as gym
import pytest

from tile_envs.wrappers import MaskInObservation

pytest.importorskip("tianshou.trainer", reason="needs tile-envs[tianshou]")

import torch
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, SubprocVectorEnv
from tianshou.utils.net.common import Net

pytestmark = pytest.mark.slow

N = 4
torch.set_num_threads(1)


def game(env_id="Tiles2048-v0", mask_dtype=bool):
    return MaskInObservation(gym.make(env_id), "obs", "mask", mask_dtype)


@pytest.mark.parametrize("mask_dtype", ["bool", "int8"])
@pytest.mark.parametrize("vectorized", [DummyVectorEnv, SubprocVectorEnv])
@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"])
def test_exploration_plays_legal_actions(env_id, vectorized, mask_dtype):
    envs = vectorized([partial(game, env_id, mask_dtype)] * N)
    shape, actions = gym.make(env_id).observation_space.shape, envs.action_space[0]
    model = Net(state_shape=shape, action_shape=int(actions.n), hidden_sizes=())
    policy = DiscreteQLearningPolicy(model=model, action_space=actions, eps_inference=1.0)
    buffer = VectorReplayBuffer(20_000, N)
    collector = Collector(policy, envs, buffer, exploration_noise=True)
    collector.reset()
    stats = collector.collect(n_episode=8)
    envs.close()
    played = buffer.sample(0)[0]
    assert len(played) == stats.n_collected_steps > 20
    assert not played.info.illegal.any()
    # Nothing is legal in the last observation of a game; every game ends by its rules.
    assert played.terminated.sum() == stats.n_collected_episodes >= 8
    assert not played.obs_next.mask[played.terminated].any()
    assert played.obs_next.mask[~played.terminated].any(axis=1).all()
