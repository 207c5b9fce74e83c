"""Trains PPO and DQN of TorchRL, over a native vector environment and over a single one.

TorchRL masks by itself: policies, exploration and the targets of DQN.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from benchmarks.libraries.clients import Client, Training
from tile_envs import wrappers
from tile_envs.wrappers import vector

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer
    from torchrl.envs import EnvBase

ENV = "Tiles2048-v0"
N_ENVS = 128
REWARD_SCALE = 0.1
"""Of the logarithms of rewards, so that values stay small."""
SEED = 0

STEPS = {("PPO", "Disabled"): 300_000, ("PPO", ""): 60_000, ("DQN", "Disabled"): 300_000}
"""Of each algorithm, with the autoreset mode of its games: none for the single environment."""

CLIENTS = [
    Client(
        library="TorchRL",
        package="torchrl",
        module="torchrl",
        algorithm=algorithm,
        env=ENV,
        games="GymWrapper, native vector" if autoreset else "GymWrapper, single",
        autoreset=autoreset,
    )
    for algorithm, autoreset in STEPS
]


def train(client: Client) -> tuple[Any, Training | None]:
    """Train a client; return its agent."""
    import torch

    from benchmarks.libraries.networks import Preferring

    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.manual_seed(SEED)
    steps = STEPS[client.algorithm, client.autoreset]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if client.algorithm == "DQN":
            network = train_dqn(native_games, steps)
        elif client.autoreset:
            network = train_ppo(native_games, steps)
        else:
            network = train_ppo(single_game, steps, frames_per_batch=1024)
    return Preferring(network), None


def native_games(n: int = N_ENVS) -> EnvBase:
    """Return n games in one native vector environment."""
    games = gym.make_vec(ENV, n, autoreset_mode="Disabled")
    return _wrapped(vector.MaskInObservation(vector.Log2Reward(games), mask_dtype=bool))


def single_game() -> EnvBase:
    """Return one game in a single environment."""
    return _wrapped(wrappers.MaskInObservation(wrappers.Log2Reward(gym.make(ENV)), mask_dtype=bool))


def _wrapped(games: Any) -> EnvBase:
    from torchrl.envs import GymWrapper, RewardScaling, TransformedEnv

    env = GymWrapper(games, categorical_action_encoding=True)
    return TransformedEnv(env, RewardScaling(0.0, REWARD_SCALE))


def train_ppo(
    make: Callable[[], EnvBase],
    steps: int,
    frames_per_batch: int = 32 * N_ENVS,
    minibatch: int = 1024,
) -> nn.Module:
    """Train a masked policy with PPO.

    Args:
        make: Makes the games.
        steps: Steps in all games.
        frames_per_batch: Steps between two updates.
        minibatch: Steps of a gradient.

    Returns:
        The network of the policy.
    """
    import torch
    from tensordict.nn import TensorDictModule
    from torchrl.collectors import Collector
    from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    from benchmarks.libraries.networks import BoardNetwork

    network = BoardNetwork(4)
    actor = ProbabilisticActor(
        TensorDictModule(network, in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(BoardNetwork(1), in_keys=["observation"])
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01, normalize_advantage=True)
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    for batch in Collector(make(), actor, frames_per_batch=frames_per_batch, total_frames=steps):
        advantage(batch)
        flat = batch.reshape(-1)
        for _ in range(4):
            for part in flat[torch.randperm(len(flat))].split(minibatch):
                losses = loss(part)
                total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                _descend(optimizer, total)
    return network


def train_dqn(
    make: Callable[[], EnvBase],
    steps: int,
    frames_per_batch: int = 4 * N_ENVS,
    gradients_per_batch: int = 4,
) -> nn.Module:
    """Train a network with double DQN, over legal actions only.

    Args:
        make: Makes the games.
        steps: Steps in all games.
        frames_per_batch: Steps between two updates.
        gradients_per_batch: Gradient steps of an update.

    Returns:
        The network of the action values.
    """
    import torch
    from tensordict.nn import TensorDictSequential
    from torchrl.collectors import Collector
    from torchrl.data import LazyTensorStorage, ReplayBuffer
    from torchrl.modules import EGreedyModule, QValueActor
    from torchrl.objectives import DQNLoss, HardUpdate

    from benchmarks.libraries.networks import BoardNetwork

    network = BoardNetwork(4)
    env = make()
    actor = QValueActor(
        network,
        in_keys=["observation"],
        spec=env.action_spec_unbatched,
        action_mask_key="action_mask",
    )
    explore = EGreedyModule(
        env.action_spec,
        annealing_num_steps=steps // 2,
        eps_end=0.01,
        action_mask_key="action_mask",
    )
    loss = DQNLoss(actor, action_space=env.action_spec_unbatched, delay_value=True, double_dqn=True)
    loss.make_value_estimator(gamma=0.99)
    update_target = HardUpdate(loss, value_network_update_interval=200)
    optimizer = torch.optim.Adam(loss.parameters(), lr=5e-4)
    buffer = ReplayBuffer(storage=LazyTensorStorage(100_000), batch_size=512)
    collector = Collector(
        env,
        TensorDictSequential(actor, explore),
        frames_per_batch=frames_per_batch,
        total_frames=steps,
    )
    for batch in collector:
        buffer.extend(batch.reshape(-1))
        explore.step(batch.numel())
        for _ in range(gradients_per_batch):
            _descend(optimizer, loss(buffer.sample())["loss"])
            update_target.step()
    return network


def _descend(optimizer: Optimizer, loss: Tensor) -> None:
    """Take a gradient step, with clipped gradients."""
    from torch.nn.utils import clip_grad_norm_

    loss.backward()  # type: ignore[no-untyped-call]
    clip_grad_norm_(optimizer.param_groups[0]["params"], 0.5)
    optimizer.step()
    optimizer.zero_grad()
