"""Trains PPO by rl-zoo3's command, with the hyperparameters of `tile_envs.plug.rl_zoo3`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium as gym
import numpy as np

from benchmarks.plug.clients import Client, Row, Training, installed, trained_row
from benchmarks.plug.sb3 import SEED, Replacing
from tile_envs.wrappers.transforms import Planes

CLIENT = Client("rl-zoo3", "rl_zoo3", "rl_zoo3", "PPO", "Tiles2048-v0", "single", "")


def keys(episodes: int) -> list[Row]:
    """Return the columns that name the row; none without the library.

    Args:
        episodes: The number of games of the evaluation.
    """
    return [CLIENT.key] if installed(CLIENT) else []


def rows(episodes: int) -> list[Row]:
    """Train, and evaluate what `enjoy` of rl-zoo3 would load.

    Args:
        episodes: The number of games of the evaluation.
    """
    return [trained_row(CLIENT, _trained, episodes)]


def _trained() -> tuple[Any, Training | None]:
    from rl_zoo3.train import train
    from stable_baselines3 import PPO

    with tempfile.TemporaryDirectory() as folder:
        command = (
            f"rl_zoo3 --algo ppo --env {CLIENT.env} --gym-packages tile_envs --seed {SEED} "
            f"--conf-file tile_envs.plug.rl_zoo3 --log-folder {folder} --num-threads 1 --verbose 0"
        )
        with patch.object(sys, "argv", command.split()):
            train()
        (model,) = Path(folder).rglob(f"{CLIENT.env}.zip")
        planes = Planes(gym.make(CLIENT.env).observation_space, np.uint8)
        return Replacing(PPO.load(model), lambda boards: planes(boards, {})), None
