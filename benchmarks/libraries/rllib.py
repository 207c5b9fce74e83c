"""Trains RLlib's PPO with action masks in two worker processes of 8 games each.

    python benchmarks/libraries/rllib.py

Each worker plays in one native vector environment, or in single environments.
"""

import gymnasium as gym
import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from baselines import evaluate
from tile_envs import wrappers
from tile_envs.plug.rllib import masked
from tile_envs.wrappers import vector
from tile_envs.wrappers.transforms import Planes

REWARD_SCALE = 0.05  # of Log2Reward: keeps the values that the network learns near 1


def train(env_id="Tiles2048-v0", total_timesteps=400_000, seed=0, kind="native"):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True)
    register_env(env_id, make_games)
    config = PPOConfig().environment(env_id, env_config={"id": env_id}).debugging(seed=seed)
    config.training(lr=1e-3, num_epochs=4, entropy_coeff=0.01)
    if env_id == "TicTacToe-v0":
        config.training(train_batch_size_per_learner=4000, minibatch_size=500)
        config.training(gamma=1.0, lambda_=0.95)
    else:
        config.training(train_batch_size_per_learner=8000, minibatch_size=1000)
        config.training(gamma=0.95, lambda_=0.9, vf_clip_param=float("inf"))
    config.env_runners(num_env_runners=2, num_envs_per_env_runner=8)
    config.env_runners(gym_env_vectorize_mode="vector_entry_point" if kind == "native" else "sync")
    model = {"fcnet_hiddens": [128, 128], "fcnet_activation": "relu"}
    config.rl_module(rl_module_spec=RLModuleSpec(ActionMaskingTorchRLModule, model_config=model))
    config.callbacks(on_episode_step=count_illegal)
    algorithm, steps = config.build_algo(), 0
    while steps < total_timesteps:
        result = algorithm.train()
        steps = int(result["num_env_steps_sampled_lifetime"])
    policy = Policy(algorithm.get_module(), env_id)
    policy.steps, policy.illegal = steps, int(result["env_runners"]["illegal"])
    algorithm.stop()
    return policy


def make_games(config):
    """Return `num_envs` games as a worker asks for them, or a single one."""
    if "num_envs" in config:
        env, kinds, scaled = gym.make_vec(**config), vector, gym.wrappers.vector.TransformReward
    else:
        env, kinds, scaled = gym.make(**config), wrappers, gym.wrappers.TransformReward
    if config["id"] != "TicTacToe-v0":
        env = scaled(kinds.Log2Reward(env), lambda reward: reward * REWARD_SCALE)
    return masked(kinds.OneHotPlanes(env))


def count_illegal(*, episode, metrics_logger, **_):
    """Add up the illegal actions that reached a game, in RLlib's metrics."""
    illegal = float(episode.get_infos(-1)["illegal"])
    metrics_logger.log_value("illegal", illegal, reduce="lifetime_sum")


class Policy:
    """Plays the most probable action of a module, which masks its own logits."""

    def __init__(self, module, env_id):
        self.module = module
        self.planes = Planes(gym.make(env_id).observation_space, np.float32)

    def predict(self, observation, action_masks):
        rows = self.planes(observation, {}).reshape(len(observation), -1)
        batch = {"observations": rows, "action_mask": action_masks.astype(np.float32)}
        batch = {name: torch.from_numpy(array) for name, array in batch.items()}
        with torch.no_grad():
            logits = self.module.forward_inference({"obs": batch})["action_dist_inputs"]
        return logits.argmax(dim=1).numpy()


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=20_000), "Tiles2048-v0")["mean"])
