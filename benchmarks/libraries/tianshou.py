"""Trains DQN and PPO of Tianshou over single games that are played side by side.

Its DQN masks by itself; its PPO is given an actor that does.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from benchmarks.libraries.clients import Client, Training
from tile_envs.wrappers import Log2Reward, MaskInObservation

if TYPE_CHECKING:
    from tianshou.env import BaseVectorEnv
    from torch import nn

ENV = "Tiles2048-v0"
N_ENVS = 32
REWARD_SCALES = {"PPO": 0.01, "DQN": 0.1}
"""Of the logarithms of rewards, so that values stay small: PPO squares the errors of its critic."""
SEED = 0

STEPS = {"PPO": 120_000, "DQN": 60_000}

CLIENTS = [
    Client(
        library="Tianshou",
        package="tianshou",
        module="tianshou",
        algorithm=algorithm,
        env=ENV,
        games="DummyVectorEnv",
        autoreset="",
    )
    for algorithm in STEPS
]


def train(client: Client) -> tuple[Any, Training | None]:
    """Train a client; return its agent."""
    import numpy as np
    import torch

    from benchmarks.libraries.networks import Preferring

    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.manual_seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 # Tianshou explores with these numbers
    learn = train_ppo if client.algorithm == "PPO" else train_dqn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = learn(STEPS[client.algorithm])
    return Preferring(network), None


def make_game(reward_scale: float) -> gym.Env[Any, Any]:
    """Return a game whose observations are as Tianshou takes masks."""
    scaled = gym.wrappers.TransformReward(
        Log2Reward(gym.make(ENV)), lambda reward: reward_scale * float(reward)
    )
    return MaskInObservation(scaled, observation_key="obs", mask_key="mask", mask_dtype=bool)


def make_games(reward_scale: float) -> BaseVectorEnv:
    """Return single games that are played side by side, in this process."""
    from tianshou.env import DummyVectorEnv

    return DummyVectorEnv([partial(make_game, reward_scale)] * N_ENVS)


def train_ppo(steps: int, per_update: int = 2048) -> nn.Module:
    """Train a masked policy with PPO.

    Args:
        steps: Steps in all games.
        per_update: Steps between two updates.

    Returns:
        The network of the policy.
    """
    from tianshou.algorithm.modelfree.ppo import PPO
    from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.trainer import OnPolicyTrainerParams

    from benchmarks.libraries.networks import BoardNetwork, Critic, MaskedActor

    games = make_games(REWARD_SCALES["PPO"])
    network = BoardNetwork(4)
    policy = DiscreteActorPolicy(actor=MaskedActor(network), action_space=games.action_space[0])
    algorithm = PPO(
        policy=policy,
        critic=Critic(BoardNetwork(1)),
        optim=AdamOptimizerFactory(lr=3e-4),
        max_batchsize=4096,
        max_grad_norm=0.5,
    )
    collector = Collector(algorithm, games, VectorReplayBuffer(per_update, N_ENVS))
    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=per_update,
            update_step_num_repetitions=4,
            batch_size=512,
            show_progress=False,
            verbose=False,
        )
    )
    return network


def train_dqn(steps: int, per_update: int = 4 * N_ENVS) -> nn.Module:
    """Train a network with double DQN.

    Args:
        steps: Steps in all games.
        per_update: Steps between two updates.

    Returns:
        The network of the action values.
    """
    from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.trainer import OffPolicyTrainerParams

    from benchmarks.libraries.networks import ActionValues, BoardNetwork

    games = make_games(REWARD_SCALES["DQN"])
    network = BoardNetwork(4)
    policy = DiscreteQLearningPolicy(
        model=ActionValues(network), action_space=games.action_space[0]
    )
    algorithm = DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=5e-4),
        target_update_freq=200,
        is_double=True,  # without, the maximum of the target is over illegal actions, too
    )
    buffer = VectorReplayBuffer(100_000, N_ENVS)
    collector = Collector(algorithm, games, buffer, exploration_noise=True)

    def anneal(epoch: int, step: int) -> None:
        policy.set_eps_training(max(0.01, 1 - 2 * step / steps))

    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=per_update,
            update_step_num_gradient_steps_per_sample=1 / 32,
            batch_size=512,
            training_fn=anneal,
            show_progress=False,
            verbose=False,
        )
    )
    return network
