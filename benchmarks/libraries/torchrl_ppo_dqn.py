"""Trains TorchRL's PPO or DQN to play 2048 with masks, in a native vector environment or a single.

    python benchmarks/libraries/torchrl_ppo_dqn.py

TorchRL resets ended games itself, so the autoreset mode is "Disabled"; masks must be `bool`.
"""

import gymnasium as gym
import numpy as np
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torchrl import data, envs, modules, objectives
from torchrl.collectors import Collector
from torchrl.envs.utils import ExplorationType, set_exploration_type
from torchrl.objectives.value import GAE

from baselines import evaluate
from tile_envs import wrappers
from tile_envs.wrappers import vector
from tile_envs.wrappers.transforms import Planes

N_ENVS = 128
BOARD = 18 * 4 * 4  # a one-hot board of 2048
HIDDEN = {"num_cells": [256, 256], "activation_class": torch.nn.ReLU}


def train(env_id="Tiles2048-v0", total_timesteps=300_000, seed=0, algorithm="PPO", kind="native"):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.manual_seed(seed)
    if kind == "native":
        games, wrap = gym.make_vec(env_id, N_ENVS, autoreset_mode="Disabled"), vector
    else:
        games, wrap = gym.make(env_id), wrappers
    games = wrap.FlatObservation(wrap.OneHotPlanes(wrap.Log2Reward(games)))
    env = envs.GymWrapper(
        wrap.MaskInObservation(games, mask_dtype=bool), categorical_action_encoding=True
    )
    env = envs.TransformedEnv(env, envs.RewardScaling(0.0, 0.1))  # keeps values small
    env.set_seed(seed)
    learn = {"PPO": train_ppo, "DQN": train_dqn}[algorithm]
    return Policy(learn(env, total_timesteps), env_id)


def train_ppo(env, total_timesteps):
    logits = TensorDictModule(modules.MLP(BOARD, 4, **HIDDEN), ["observation"], ["logits"])
    actor = modules.ProbabilisticActor(
        logits,
        {"logits": "logits", "mask": "action_mask"},
        distribution_class=modules.MaskedCategorical,
        return_log_prob=True,
    )
    critic = modules.ValueOperator(modules.MLP(BOARD, 1, **HIDDEN), ["observation"])
    losses = objectives.ClipPPOLoss(actor, critic, entropy_coeff=0.01, normalize_advantage=True)
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimizer = torch.optim.Adam(losses.parameters(), lr=1e-3)
    per_batch = 32 * N_ENVS if env.batch_size else 1024
    for batch in Collector(env, actor, frames_per_batch=per_batch, total_frames=total_timesteps):
        advantage(batch)
        steps = batch.reshape(-1)
        for _ in range(4):
            for part in steps[torch.randperm(len(steps))].split(1024):
                loss = losses(part)
                loss = loss["loss_objective"] + loss["loss_critic"] + loss["loss_entropy"]
                descend(optimizer, loss)
    return actor


def train_dqn(env, total_timesteps):
    masks = {"action_mask_key": "action_mask"}
    spec, halfway = env.action_spec_unbatched, total_timesteps // 2
    net = modules.MLP(BOARD, 4, **HIDDEN)
    actor = modules.QValueActor(net, in_keys=["observation"], spec=spec, **masks)
    explore = modules.EGreedyModule(
        env.action_spec, annealing_num_steps=halfway, eps_end=0.01, **masks
    )
    losses = objectives.DQNLoss(actor, action_space=spec, delay_value=True, double_dqn=True)
    losses.make_value_estimator(gamma=0.99)
    update_target = objectives.HardUpdate(losses, value_network_update_interval=200)
    optimizer = torch.optim.Adam(losses.parameters(), lr=5e-4)
    buffer = data.ReplayBuffer(storage=data.LazyTensorStorage(100_000), batch_size=512)
    player, per_batch = TensorDictSequential(actor, explore), 4 * N_ENVS
    for batch in Collector(env, player, frames_per_batch=per_batch, total_frames=total_timesteps):
        buffer.extend(batch.reshape(-1))
        explore.step(batch.numel())
        for _ in range(4):
            descend(optimizer, losses(buffer.sample())["loss"])
            update_target.step()
    return actor


def descend(optimizer, loss):
    loss.backward()
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 0.5)
    optimizer.step()
    optimizer.zero_grad()


class Policy:
    """Plays the best legal action of an actor."""

    def __init__(self, actor, env_id):
        self.actor = actor
        self.planes = Planes(gym.make(env_id).observation_space, np.float32)

    def predict(self, observation, action_masks):
        rows = self.planes(observation, {}).reshape(len(observation), -1)
        boards = TensorDict({"observation": rows, "action_mask": action_masks}, [len(rows)])
        with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
            return self.actor(boards)["action"].numpy()


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=40_960), "Tiles2048-v0")["mean"])
