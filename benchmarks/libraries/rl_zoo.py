"""Trains PPO by rl-zoo3's command, with the hyperparameters of `tile_envs.plug.rl_zoo3`.

Its PPO takes no masks: illegal actions are replaced by random legal ones.
"""

import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import gymnasium as gym
import numpy as np
from rl_zoo3.train import train as run_command
from stable_baselines3 import PPO

from baselines import evaluate
from tile_envs.wrappers.transforms import Planes, legal_choices

COMMAND = "train --algo ppo --gym-packages tile_envs --conf-file tile_envs.plug.rl_zoo3"


def train(env_id="Tiles2048-v0", total_timesteps=300_000, seed=0):
    with tempfile.TemporaryDirectory() as folder:
        options = f"--env {env_id} --n-timesteps {total_timesteps} --seed {seed} --num-threads 1"
        command = f"{COMMAND} {options} --log-folder {folder}"
        with patch.object(sys, "argv", command.split()):
            run_command()
        (model,) = Path(folder).rglob(f"{env_id}.zip")
        return Policy(PPO.load(model), env_id, seed)


class Policy:
    def __init__(self, model, env_id, seed):
        self.model, self.rng = model, np.random.default_rng(seed)
        self.planes = Planes(gym.make(env_id).observation_space, np.uint8)

    def predict(self, observation, action_masks):
        actions = self.model.predict(self.planes(observation, {}), deterministic=True)[0].copy()
        illegal = ~action_masks[np.arange(len(actions)), actions]
        actions[illegal] = legal_choices(self.rng, action_masks[illegal])
        return actions


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=20_000), "Tiles2048-v0")["mean"])
