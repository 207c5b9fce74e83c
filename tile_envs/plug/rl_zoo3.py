r"""Hyperparameters for rl-zoo3, which trains by one command.

    python -m rl_zoo3.train --algo ppo --env Tiles2048-v0 --gym-packages tile_envs \
        --conf-file tile_envs.plug.rl_zoo3 --log-folder runs/zoo

rl-zoo3 makes single environments.  Its PPO has no masks: `ReplaceIllegal` keeps illegal actions
from the games, and `PenalizeIllegal` keeps the policy from settling on a single direction.
"""

from typing import Any

_SHARED: dict[str, Any] = {
    "policy": "MlpPolicy",
    "n_envs": 16,
    "n_steps": 128,
    "batch_size": 128,
    "n_epochs": 10,
    "learning_rate": 3e-4,
    "gamma": 0.95,
    "gae_lambda": 0.9,
    "ent_coef": 0.005,
    "normalize": {"norm_obs": False, "norm_reward": True},
    "policy_kwargs": {"net_arch": [256, 256]},
}
_SLIDING = _SHARED | {
    "n_timesteps": 300_000,
    "env_wrapper": [
        "tile_envs.wrappers.Log2Reward",
        "tile_envs.wrappers.ReplaceIllegal",
        {"tile_envs.wrappers.PenalizeIllegal": {"penalty": 2.0}},
        "tile_envs.wrappers.OneHotPlanes",
    ],
}
_TICTACTOE = _SHARED | {
    "n_timesteps": 100_000,
    "env_wrapper": ["tile_envs.wrappers.ReplaceIllegal", "tile_envs.wrappers.OneHotPlanes"],
}

hyperparams: dict[str, dict[str, Any]] = {
    "Tiles2048-v0": _SLIDING,
    "Tiles2584-v0": _SLIDING,
    "TicTacToe-v0": _TICTACTOE,
}
"""By id of the environment, as rl-zoo3 reads it."""
