"""Trains Tianshou's PPO to play 2048 with masks, in 32 single games side by side.

Tianshou expects boards and masks under the keys `obs` and `mask`; the actor has to use the masks.
"""

import gymnasium as gym
import torch
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from torch.nn.functional import one_hot

from baselines import evaluate
from tile_envs.wrappers import Log2Reward, MaskInObservation


class Critic(Net):
    def forward(self, obs, state=None, info=None):
        return super().forward(one_hot(torch.as_tensor(obs.obs).long(), 18).float())[0]


class Actor(Critic):
    def forward(self, obs, state=None, info=None):
        return super().forward(obs).where(torch.as_tensor(obs.mask), -torch.inf), state

    def predict(self, observation, action_masks):
        return self(Batch(obs=observation, mask=action_masks))[0].argmax(1).numpy()


def train(env_id="Tiles2048-v0", total_timesteps=120_000, seed=0):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.manual_seed(seed)
    games = [lambda: MaskInObservation(Log2Reward(gym.make(env_id)), "obs", "mask", bool)] * 32
    envs = DummyVectorEnv(games)
    envs.seed(seed)
    actor = Actor(state_shape=4 * 4 * 18, action_shape=4, hidden_sizes=(256, 256))
    critic = Critic(state_shape=4 * 4 * 18, action_shape=1, hidden_sizes=(256, 256))
    policy = DiscreteActorPolicy(actor=actor, action_space=envs.action_space[0])
    adam = AdamOptimizerFactory(lr=3e-4)
    ppo = PPO(policy=policy, critic=critic, optim=adam, max_grad_norm=0.5, return_scaling=True)
    params = OnPolicyTrainerParams(
        training_collector=Collector(ppo, envs, VectorReplayBuffer(2048, 32)),
        max_epochs=1,
        epoch_num_steps=total_timesteps,
        collection_step_num_env_steps=2048,
        update_step_num_repetitions=4,
        batch_size=512,
    )
    ppo.run_training(params)
    return actor


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=20_000), "Tiles2048-v0")["mean"])
