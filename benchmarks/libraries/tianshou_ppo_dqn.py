"""Trains Tianshou's PPO or DQN to play 2048 with masks, in 32 single games side by side.

    python benchmarks/libraries/tianshou_ppo_dqn.py

Tianshou finds the board and the mask under the keys `obs` and `mask` of an observation.  Its DQN
masks by itself, unless `is_double=False`; its PPO needs an actor that does.
"""

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net.common import Net

from baselines import evaluate
from tile_envs.wrappers import Log2Reward, MaskInObservation, OneHotPlanes
from tile_envs.wrappers.transforms import Planes

N_ENVS = 32
NET = {"state_shape": (18, 4, 4), "hidden_sizes": (256, 256)}
RUN = {"max_epochs": 1, "batch_size": 512, "show_progress": False, "verbose": False}


def train(env_id="Tiles2048-v0", total_timesteps=120_000, seed=0, algorithm="PPO"):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 # Tianshou explores with these numbers
    scale, learn = {"PPO": (0.01, train_ppo), "DQN": (0.1, train_dqn)}[algorithm]

    def make_game():
        env = Log2Reward(gym.make(env_id))
        env = gym.wrappers.TransformReward(env, lambda reward: scale * float(reward))
        return MaskInObservation(OneHotPlanes(env), "obs", "mask", bool)

    games = DummyVectorEnv([make_game] * N_ENVS)
    games.seed(seed)
    return Policy(learn(games, total_timesteps), env_id)


def train_ppo(games, total_timesteps):
    actor, critic = Actor(action_shape=4, **NET), Critic(action_shape=1, **NET)
    spaces = {"action_space": games.action_space[0]}
    policy = DiscreteActorPolicy(actor=actor, deterministic_eval=True, **spaces)
    adam = AdamOptimizerFactory(lr=3e-4)
    ppo = PPO(policy=policy, critic=critic, optim=adam, max_batchsize=4096, max_grad_norm=0.5)
    steps = {"epoch_num_steps": total_timesteps, "collection_step_num_env_steps": 2048}
    collector = Collector(ppo, games, VectorReplayBuffer(2048, N_ENVS))
    steps |= {"update_step_num_repetitions": 4}
    ppo.run_training(OnPolicyTrainerParams(training_collector=collector, **steps, **RUN))
    return policy


def train_dqn(games, total_timesteps):
    net, spaces = Net(action_shape=4, **NET), {"action_space": games.action_space[0]}
    policy = DiscreteQLearningPolicy(model=net, **spaces)
    dqn = DQN(policy=policy, optim=AdamOptimizerFactory(lr=5e-4), target_update_freq=200)
    buffer = VectorReplayBuffer(100_000, N_ENVS)
    collector = Collector(dqn, games, buffer, exploration_noise=True)
    steps = {"epoch_num_steps": total_timesteps, "collection_step_num_env_steps": 4 * N_ENVS}
    steps |= {"update_step_num_gradient_steps_per_sample": 1 / 32}

    def anneal(epoch, step):
        policy.set_eps_training(max(0.01, 1 - 2 * step / total_timesteps))

    run = OffPolicyTrainerParams(training_collector=collector, training_fn=anneal, **steps, **RUN)
    dqn.run_training(run)
    return policy


class Actor(Net):
    """Logits of the legal actions."""

    def forward(self, obs, state=None, info=None):
        logits, state = super().forward(obs.obs, state)
        return logits.masked_fill(~torch.as_tensor(obs.mask), -torch.inf), state


class Critic(Net):
    """Values of boards."""

    def forward(self, obs, state=None, info=None):
        return super().forward(obs.obs, state)[0]


class Policy:
    """Plays the best legal action."""

    def __init__(self, policy, env_id):
        self.policy = policy
        self.planes = Planes(gym.make(env_id).observation_space, np.uint8)

    def predict(self, observation, action_masks):
        boards = Batch(obs=self.planes(observation, {}), mask=action_masks)
        with torch.no_grad():
            return np.asarray(self.policy(Batch(obs=boards, info=Batch())).act)


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=20_000), "Tiles2048-v0")["mean"])
