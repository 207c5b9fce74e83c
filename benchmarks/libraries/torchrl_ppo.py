"""Trains TorchRL's PPO to play 2048 with masks, in a native vector environment.

TorchRL resets ended games itself, so the autoreset mode is "Disabled"; masks must be `bool`.
"""

import gymnasium as gym
import torch
from tensordict.nn import TensorDictModule
from torchrl import envs, modules, objectives
from torchrl.collectors import Collector

from baselines import evaluate
from tile_envs.wrappers.vector import Log2Reward, MaskInObservation


class Network(modules.MLP):
    def forward(self, boards):
        return super().forward(torch.nn.functional.one_hot(boards.long(), 18).flatten(-3).float())

    def predict(self, observation, action_masks):
        logits = self(torch.as_tensor(observation))
        return logits.where(torch.as_tensor(action_masks), -torch.inf).argmax(1).numpy()


def train(env_id="Tiles2048-v0", seed=0, total_timesteps=300_000):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.manual_seed(seed)
    vec = Log2Reward(gym.make_vec(env_id, 32, autoreset_mode="Disabled"))
    env = envs.GymWrapper(MaskInObservation(vec, mask_dtype=bool), categorical_action_encoding=True)
    env = envs.TransformedEnv(env, envs.RewardScaling(0.0, 0.1))  # keeps values small
    env.set_seed(seed)
    network = Network(4 * 4 * 18, 4, num_cells=[256, 256])
    policy = TensorDictModule(network, ["observation"], ["logits"])
    keys, kind = {"logits": "logits", "mask": "action_mask"}, modules.MaskedCategorical
    actor = modules.ProbabilisticActor(policy, keys, distribution_class=kind, return_log_prob=True)
    critic = modules.ValueOperator(Network(4 * 4 * 18, 1, num_cells=[256, 256]), ["observation"])
    losses = objectives.ClipPPOLoss(actor, critic, entropy_coeff=0.01, normalize_advantage=True)
    optimizer = torch.optim.Adam(losses.parameters(), lr=1e-3)
    for batch in Collector(env, actor, frames_per_batch=1_024, total_frames=total_timesteps):
        for _ in range(4):
            losses.value_estimator(batch)  # generalized advantage estimates
            loss = losses(batch.reshape(-1))
            (loss["loss_objective"] + loss["loss_critic"] + loss["loss_entropy"]).backward()
            torch.nn.utils.clip_grad_norm_(losses.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
    return network


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=40_960), "Tiles2048-v0")["mean"])
