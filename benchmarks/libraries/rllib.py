"""Trains RLlib's PPO to play 2048 with masks: two workers, each a native vector of 8 games."""

import gymnasium as gym
import torch
from gymnasium.wrappers.vector import TransformReward
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from baselines import evaluate
from tile_envs.plug.rllib import games
from tile_envs.wrappers.transforms import Planes

SCALE = 0.05  # of rewards: keeps the values that the network learns near 1
NETWORK = {"fcnet_hiddens": [128, 128], "fcnet_activation": "relu"}


def train(env_id="Tiles2048-v0", seed=0, total_timesteps=400_000):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    make_games = games(env_id, wrappers=["Log2Reward", "OneHotPlanes"])
    register_env(env_id, lambda config: TransformReward(make_games(config), lambda r: SCALE * r))
    config = PPOConfig().environment(env_id).debugging(seed=seed)
    config.training(train_batch_size_per_learner=8_000, minibatch_size=1_000, num_epochs=4, lr=1e-3)
    config.training(gamma=0.95, lambda_=0.9, entropy_coeff=0.01, vf_clip_param=float("inf"))
    config.env_runners(num_env_runners=2, num_envs_per_env_runner=8)
    config.env_runners(gym_env_vectorize_mode="vector_entry_point")
    config.rl_module(rl_module_spec=RLModuleSpec(ActionMaskingTorchRLModule, model_config=NETWORK))
    algorithm = config.build_algo()
    while algorithm.train()["num_env_steps_sampled_lifetime"] < total_timesteps:
        pass
    algorithm.stop()
    return Policy(algorithm.get_module(), gym.make(env_id).observation_space)


class Policy:
    def __init__(self, module, boards):
        self.module, self.planes = module, Planes(boards, "float32")

    def predict(self, observation, action_masks):
        rows = torch.as_tensor(self.planes(observation, {})).flatten(1)
        boards = {"observations": rows, "action_mask": torch.as_tensor(action_masks).float()}
        outputs = self.module.forward_inference({"obs": boards})
        return outputs["action_dist_inputs"].argmax(1).numpy()


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=20_000), "Tiles2048-v0")["mean"])
