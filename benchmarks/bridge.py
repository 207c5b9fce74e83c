"""Measures how fast Stable-Baselines3 is given games: by our bridge, and by its own `DummyVecEnv`.

    python -m benchmarks.bridge --out benchmarks/results/bridge.csv

256 games, legal actions at random, masks asked for in every step as MaskablePPO does; steps per
second as in `speed`.  gymnasium-2048, if it is installed, has no masks: its illegal moves are not
counted, and not tried again on the same board.  Beside that, the share of the time that games and
bridge take when a DQN is trained.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import tile_envs  # noqa: F401
from baselines.deep.sb3_bridge import Bridge
from baselines.roster import make_learner, sides_of
from baselines.tables import checked_path, write_rows
from baselines.training import default_options
from benchmarks.ours import GAMES
from benchmarks.peers import GYMNASIUM_2048_ID, Peer, Play, installed
from benchmarks.speed import figures_row, speed_rows

NUM_ENVS = 256
SHARE = "share of training"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bridge", description=__doc__)
    parser.add_argument("--out", type=Path, help="write the rows to this file")
    parser.add_argument("--turns", type=int, default=7, help="turns of each candidate")
    asked = parser.parse_args()
    if asked.out:
        checked_path(asked.out)
    candidates = []
    for game, env_id in GAMES.items():
        for kind, make in (("Bridge", _bridge), ("DummyVecEnv", _dummy)):
            play = partial(_play_by_mask, make, env_id)
            candidates.append(Peer("tile-envs", game, kind, NUM_ENVS, play))
    if any(peer.package == "gymnasium-2048" for peer in installed()):
        candidates.append(
            Peer("gymnasium-2048", "2048", "DummyVecEnv", NUM_ENVS, _play_gymnasium_2048)
        )
    rows = list(speed_rows(candidates, asked.turns))
    for game, env_id in GAMES.items():
        shares = _shares_of_training(env_id, asked.turns)
        rows.append(figures_row(SHARE, shares, "tile-envs", game, "Bridge", 1))
    for row in rows:
        print(f"{row['package']:<16}{row['game']:<13}{row['kind']:<13}{row['value']:>12,.4g}")
    if asked.out:
        write_rows(rows, asked.out)


def _shares_of_training(env_id: str, rounds: int) -> list[float]:
    settings = default_options("dqn", env_id, None).settings
    learner = make_learner("dqn", env_id, {}, sides_of(gym.make(env_id), "both"), settings, seed=0)
    while not learner.learn()["loss"] > 0:  # at first it plays at random, and learns nothing
        pass
    return [learner.learn()["environment_share"] for _ in range(rounds)]


def _bridge(env_id: str, num_envs: int) -> VecEnv:
    return Bridge(gym.make_vec(env_id, num_envs, autoreset_mode="SameStep"))


def _dummy(env_id: str, num_envs: int) -> VecEnv:
    return DummyVecEnv([lambda: gym.make(env_id)] * num_envs)


def _play_by_mask(make: Callable[[str, int], VecEnv], env_id: str, num_envs: int) -> Play:
    envs, rng = make(env_id, num_envs), np.random.default_rng(0)
    envs.reset()

    def play(steps: int) -> int:
        played = 0
        while played < steps:
            masks = np.stack(envs.env_method("action_masks"))
            envs.step((rng.random(masks.shape) * masks).argmax(axis=1))
            played += num_envs
        return played

    return play


def _play_gymnasium_2048(num_envs: int) -> Play:
    def make_one() -> gym.Env[Any, Any]:
        return gym.make(GYMNASIUM_2048_ID, disable_env_checker=True)

    envs, rng = DummyVecEnv([make_one] * num_envs), np.random.default_rng(0)
    envs.reset()
    tried = np.zeros((num_envs, 4), np.bool_)

    def play(steps: int) -> int:
        played = 0
        while played < steps:
            preference = rng.random(tried.shape)
            preference[tried] = -1.0
            actions = preference.argmax(axis=1)
            *_, infos = envs.step(actions)
            legal = np.array([info["is_legal"] for info in infos])
            tried[np.arange(num_envs), actions] = True
            tried[legal] = False
            played += int(legal.sum())
        return played

    return play


if __name__ == "__main__":
    main()
