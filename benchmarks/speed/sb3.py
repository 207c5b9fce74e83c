"""Measures how fast Stable-Baselines3 is given games, by our `SB3VecEnv` and its `DummyVecEnv`.

The games play legal actions at random; masks are asked for in every step, as MaskablePPO does.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import tile_envs  # noqa: F401
from baselines.training.learner import learner_class
from baselines.training.run import config_for
from benchmarks.results import Row
from benchmarks.speed.environments import GAMES, SECONDS
from benchmarks.speed.peers import Peer, Play, repeat
from benchmarks.speed.turns import OURS, measure_speeds, now, summary_row
from tile_envs.plug.sb3 import make_sb3


def measure(
    turns: int,
    games: Mapping[str, str] = GAMES,
    sizes: Sequence[int] = (64, 256),
    seconds: float = SECONDS,
) -> list[Row]:
    """Measure as `environments` does, then the share of training in as many iterations."""
    kinds: dict[str, Callable[[str, int], VecEnv]] = {
        "SB3VecEnv, numpy": partial(make_sb3, engine="numpy"),
        "SB3VecEnv, numba": partial(make_sb3, engine="numba"),
        "DummyVecEnv": lambda env_id, n: DummyVecEnv([lambda: gym.make(env_id)] * n),
    }
    candidates = [
        Peer(OURS, game, kind, num_envs, partial(_play_by_mask, make, env_id))
        for game, env_id in games.items()
        for num_envs in sizes
        for kind, make in kinds.items()
    ]
    rows, run = measure_speeds(candidates, turns, seconds), now()
    share = {"measure": "share of training", "package": OURS, "kind": "SB3VecEnv", "num_envs": 1}
    for game, env_id in games.items():
        learner = learner_class("dqn").new(config_for("dqn", env_id))
        while not learner.learn()["loss"] > 0:  # before learning starts, it plays at random
            pass
        values = [learner.learn()["environment_share"] for _ in range(turns)]
        rows.append(summary_row(share | {"game": game}, values, run))
    return rows


def _play_by_mask(make: Callable[[str, int], VecEnv], env_id: str, num_envs: int) -> Play:
    envs, rng = make(env_id, num_envs), np.random.default_rng(0)
    envs.reset()

    def play_step() -> int:
        masks = np.stack(envs.env_method("action_masks"))
        envs.step((rng.random(masks.shape) * masks).argmax(axis=1))
        return num_envs

    return repeat(play_step)
