"""Trains PPO by rl-zoo3's command, with the hyperparameters of `tile_envs.plug.rl_zoo3`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium as gym
import numpy as np

from benchmarks.libraries.clients import Client, Training
from benchmarks.libraries.sb3 import SEED, Replacing
from tile_envs.wrappers.transforms import Planes

CLIENTS = [
    Client("rl-zoo3", "rl_zoo3", "rl_zoo3", "PPO", env, "single", "")
    for env in ("Tiles2048-v0", "TicTacToe-v0")
]


def train(client: Client) -> tuple[Any, Training | None]:
    """Train by the command; return the model that it has saved, as an agent."""
    from rl_zoo3.train import train as run_command
    from stable_baselines3 import PPO

    with tempfile.TemporaryDirectory() as folder:
        command = (
            f"rl_zoo3 --algo ppo --env {client.env} --gym-packages tile_envs --seed {SEED} "
            f"--conf-file tile_envs.plug.rl_zoo3 --log-folder {folder} --num-threads 1 --verbose 0"
        )
        with patch.object(sys, "argv", command.split()):
            run_command()
        (model,) = Path(folder).rglob(f"{client.env}.zip")
        planes = Planes(gym.make(client.env).observation_space, np.uint8)
        return Replacing(PPO.load(model), lambda boards: planes(boards, {})), None
