"""Trains Tianshou's double DQN to play 2048 with masks, in 32 single games side by side.

Tianshou expects boards and masks under the keys `obs` and `mask`, and uses the masks itself.
"""

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from baselines import evaluate
from tile_envs.wrappers import Log2Reward, MaskInObservation

TRAINING = {"max_epochs": 1, "batch_size": 512, "collection_step_num_env_steps": 128}
TRAINING |= {"update_step_num_gradient_steps_per_sample": 1 / 32}


class Network(Net):
    def forward(self, obs, state=None, info=None):
        planes = torch.nn.functional.one_hot(torch.as_tensor(obs).long(), 18)
        return super().forward(planes.float(), state)

    def predict(self, observation, action_masks):
        values, _ = self(observation)
        return values.where(torch.as_tensor(action_masks), -torch.inf).argmax(1).numpy()


def train(env_id="Tiles2048-v0", seed=0, total_timesteps=60_000):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 # Tianshou explores with these numbers
    games = [lambda: MaskInObservation(Log2Reward(gym.make(env_id)), "obs", "mask", bool)] * 32
    envs = DummyVectorEnv(games)
    envs.seed(seed)
    network = Network(state_shape=4 * 4 * 18, action_shape=4, hidden_sizes=(256, 256))
    actions, adam = envs.action_space[0], AdamOptimizerFactory(lr=5e-4)
    policy = DiscreteQLearningPolicy(model=network, action_space=actions, eps_training=0.1)
    dqn = DQN(policy=policy, optim=adam, target_update_freq=200, huber_loss_delta=1.0)
    collector = Collector(dqn, envs, VectorReplayBuffer(100_000, 32), exploration_noise=True)
    budget = {"training_collector": collector, "epoch_num_steps": total_timesteps}
    dqn.run_training(OffPolicyTrainerParams(**budget, **TRAINING))
    return network


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=20_000), "Tiles2048-v0")["mean"])
