"""Trains TorchRL's double DQN to play 2048 with masks, in a native vector environment.

TorchRL resets ended games itself, so the autoreset mode is "Disabled"; masks must be `bool`.
"""

import gymnasium as gym
import torch
from tensordict.nn import TensorDictSequential
from torch.nn.functional import one_hot
from torchrl import data, envs, modules
from torchrl.collectors import Collector
from torchrl.objectives import DQNLoss, HardUpdate

from baselines import evaluate
from tile_envs.wrappers.vector import Log2Reward, MaskInObservation

MASK = {"action_mask_key": "action_mask"}


class Network(modules.MLP):
    def forward(self, boards):
        return super().forward(one_hot(boards.long(), 18).flatten(-3).float())

    def predict(self, observation, action_masks):
        values = self(torch.as_tensor(observation))
        return values.where(torch.as_tensor(action_masks), -torch.inf).argmax(1).numpy()


def train(env_id="Tiles2048-v0", total_timesteps=300_000, seed=0):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.manual_seed(seed)
    games = gym.make_vec(env_id, 128, autoreset_mode="Disabled")
    games = MaskInObservation(Log2Reward(games), mask_dtype=bool)
    env = envs.GymWrapper(games, categorical_action_encoding=True)
    env = envs.TransformedEnv(env, envs.RewardScaling(0.0, 0.1))  # keeps values small
    env.set_seed(seed)
    network = Network(4 * 4 * 18, 4, num_cells=[256, 256], activation_class=torch.nn.ReLU)
    spec, half = env.action_spec_unbatched, total_timesteps // 2
    actor = modules.QValueActor(network, in_keys=["observation"], spec=spec, **MASK)
    explore = modules.EGreedyModule(env.action_spec, eps_end=0.01, annealing_num_steps=half, **MASK)
    losses = DQNLoss(actor, action_space=spec, delay_value=True, double_dqn=True)
    update_target = HardUpdate(losses, value_network_update_interval=200)
    optimizer = torch.optim.Adam(losses.parameters(), lr=5e-4)
    buffer = data.ReplayBuffer(storage=data.LazyTensorStorage(100_000), batch_size=512)
    player = TensorDictSequential(actor, explore)
    for batch in Collector(env, player, frames_per_batch=512, total_frames=total_timesteps):
        buffer.extend(batch.reshape(-1))
        explore.step(batch.numel())
        for _ in range(4):
            losses(buffer.sample())["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
            update_target.step()
    return network


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=40_960), "Tiles2048-v0")["mean"])
