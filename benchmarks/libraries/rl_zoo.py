"""Trains PPO by rl-zoo3's command, with the hyperparameters of `tile_envs.plug.rl_zoo3`.

Its PPO takes no masks: illegal actions are replaced by random legal ones.
"""

import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import gymnasium as gym
from rl_zoo3.train import train as run_command
from stable_baselines3 import PPO

from baselines import evaluate
from tile_envs.plug.sb3 import Replacing
from tile_envs.wrappers.transforms import Planes

COMMAND = "train --algo ppo --gym-packages tile_envs --conf-file tile_envs.plug.rl_zoo3"


def train(env_id="Tiles2048-v0", seed=0, total_timesteps=300_000):
    options = f"--env {env_id} --seed {seed} --n-timesteps {total_timesteps} --num-threads 1"
    with tempfile.TemporaryDirectory() as folder:
        command = f"{COMMAND} {options} --log-folder {folder}"
        with patch.object(sys, "argv", command.split()):
            run_command()
        (model,) = Path(folder).rglob(f"{env_id}.zip")
        planes = Planes(gym.make(env_id).observation_space, "uint8")
        return Replacing(PPO.load(model), seed, lambda boards: planes(boards, {}))


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=20_000), "Tiles2048-v0")["mean"])
