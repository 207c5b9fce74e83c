"""Trains RLlib's PPO with action masks in worker processes, and plays with what it has learned.

Two workers have 8 games each, single or native vector environments, as one-hot vectors.  Each
worker counts the illegal actions in the infos of the steps that it hands over for training.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

import tile_envs  # noqa: F401
from baselines.evaluation import play, summary
from baselines.registry import make_agent
from baselines.task import Task
from benchmarks.speed.turns import machine
from tile_envs import wrappers
from tile_envs.plug.rllib import masked
from tile_envs.wrappers import vector
from tile_envs.wrappers.transforms import Planes

Row = dict[str, Any]

SINGLE, NATIVE = "single", "native"
CLIENTS = (
    ("Tiles2048-v0", SINGLE),
    ("Tiles2048-v0", NATIVE),
    ("TicTacToe-v0", SINGLE),
)
WORKERS, GAMES = 2, 8
MODES = {SINGLE: "sync", NATIVE: "vector_entry_point"}
REWARD_SCALE = {"Tiles2048-v0": 0.05, "TicTacToe-v0": 1.0}
"""Keeps the values that a network has to learn near 1."""
HIDDEN = [128, 128]
TRAINING: dict[str, Row] = {
    "Tiles2048-v0": {
        "lr": 1e-3,
        "train_batch_size_per_learner": 8000,
        "minibatch_size": 1000,
        "num_epochs": 4,
        "entropy_coeff": 0.01,
        "gamma": 0.95,
        "lambda_": 0.9,
        "vf_clip_param": float("inf"),
    },
    "TicTacToe-v0": {
        "lr": 1e-3,
        "train_batch_size_per_learner": 4000,
        "minibatch_size": 500,
        "num_epochs": 4,
        "entropy_coeff": 0.01,
        "gamma": 1.0,
        "lambda_": 0.95,
    },
}
STEPS = {"Tiles2048-v0": 400_000, "TicTacToe-v0": 60_000}
SEED = 0

SEEN, ILLEGAL = "steps_seen", "illegal_actions"


def keys(episodes: int) -> list[Row]:
    """Return the columns that name each row; none if RLlib is not installed."""
    if any(importlib.util.find_spec(name) is None for name in ("ray", "torch")):
        return []
    return [_name(*client) for client in CLIENTS]


def rows(episodes: int) -> list[Row]:
    """Train each client, and play.

    Args:
        episodes: Games that the trained policy plays, and random play.

    Returns:
        A row for each client.
    """
    if not keys(episodes):
        return []
    with _ray():
        return [_row(env_id, kind, episodes) for env_id, kind in CLIENTS]


def _name(env_id: str, kind: str) -> Row:
    return {"library": "RLlib", "algorithm": "PPO", "env": env_id, "environments": kind}


def _row(env_id: str, kind: str, episodes: int) -> Row:
    module, trained = train(env_id, kind, STEPS[env_id])
    policy = Policy(module, env_id)
    found = summary(play(policy, env_id, None, episodes, SEED), "PPO", env_id, {}, SEED)
    at_random = make_agent("random", Task.of(env_id).game, SEED)
    return _name(env_id, kind) | {
        "library_version": version("ray"),
        "gymnasium": version("gymnasium"),
        "autoreset": "NextStep",
        **trained,
        "episodes": episodes,
        **{name: found[name] for name in ("mean", "low", "high")},
        "random": float(play(at_random, env_id, None, episodes, SEED).returns.mean()),
        "illegal_play": policy.illegal,
        "machine": machine(),
    }


def train(env_id: str, kind: str, steps: int) -> tuple[Any, Row]:
    """Train PPO in worker processes.

    Args:
        env_id: The environment.
        kind: `SINGLE` or `NATIVE`.
        steps: Steps of all games together, rounded up to whole batches.

    Returns:
        The trained module; and the columns `steps` and `illegal_training`, which the workers have
        counted, and `minutes`.
    """
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
    from ray.tune.registry import register_env

    register_env(kind, {SINGLE: single_game, NATIVE: many_games}[kind])
    config = (
        PPOConfig()
        .environment(kind, env_config={"id": env_id, "scale": REWARD_SCALE[env_id]})
        .env_runners(
            num_env_runners=WORKERS,
            num_envs_per_env_runner=GAMES,
            gym_env_vectorize_mode=MODES[kind],
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule,
                model_config={"fcnet_hiddens": HIDDEN, "fcnet_activation": "relu"},
            )
        )
        .training(**TRAINING[env_id])
        .callbacks(on_sample_end=count)
        .debugging(seed=SEED)
    )
    algorithm = config.build_algo()
    try:
        began, seen, illegal = time.perf_counter(), 0, 0
        while seen < steps:
            counted = algorithm.train()["env_runners"]
            seen, illegal = int(counted[SEEN]), int(counted[ILLEGAL])
        minutes = round((time.perf_counter() - began) / 60, 2)
        trained = {"steps": seen, "minutes": minutes, "illegal_training": illegal}
        return algorithm.get_module(), trained
    finally:
        algorithm.stop()


def single_game(config: Row) -> gym.Env[Any, Any]:
    """Make a game, as RLlib's workers ask for it in the mode `sync`."""
    env, scale = gym.make(config["id"]), config["scale"]
    if config["id"] != "TicTacToe-v0":
        env = wrappers.Log2Reward(env)
    env = gym.wrappers.TransformReward(env, lambda reward: float(reward) * scale)
    return masked(wrappers.OneHotPlanes(env))


def many_games(config: Row) -> gym.vector.VectorEnv[Any, Any, Any]:
    """Make games, as RLlib's workers ask for them in the mode `vector_entry_point`."""
    envs, scale = gym.make_vec(config["id"], config["num_envs"]), config["scale"]
    if config["id"] != "TicTacToe-v0":
        envs = vector.Log2Reward(envs)
    envs = gym.wrappers.vector.TransformReward(envs, lambda rewards: rewards * scale)
    return masked(vector.OneHotPlanes(envs))


def count(*, samples: list[Any], metrics_logger: Any, **_: Any) -> None:
    """Count the steps that a worker has sampled, and the illegal actions among them."""
    # The first info of each piece of an episode is of a reset, or the last one of the piece before.
    infos = [info for piece in samples for info in piece.get_infos()[1:]]
    illegal = sum(bool(info["illegal"]) for info in infos)
    metrics_logger.log_value(SEEN, len(infos), reduce="lifetime_sum")
    metrics_logger.log_value(ILLEGAL, illegal, reduce="lifetime_sum")


class Policy:
    """A trained module as an agent, which plays the most probable legal action.

    Attributes:
        illegal: Its illegal actions so far.
    """

    def __init__(self, module: Any, env_id: str) -> None:
        self._module = module
        self._planes = Planes(gym.make(env_id).observation_space, np.float32)
        self.illegal = 0

    def predict(
        self, observations: NDArray[Any], action_masks: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return an action for each board `(n, R, C)`."""
        import torch

        rows = self._planes(observations, {}).reshape(len(observations), -1)
        masks = action_masks.astype(np.float32)
        batch = {"observations": torch.from_numpy(rows), "action_mask": torch.from_numpy(masks)}
        with torch.no_grad():
            logits = self._module.forward_inference({"obs": batch})["action_dist_inputs"]
        actions: NDArray[np.int64] = logits.argmax(dim=1).numpy()
        self.illegal += int((~action_masks[np.arange(len(actions)), actions]).sum())
        return actions


@contextmanager
def _ray() -> Iterator[None]:
    """Ray's processes on this machine, while the body runs."""
    import ray
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    ray.init(num_cpus=WORKERS, include_dashboard=False, object_store_memory=200e6)
    try:
        yield
    finally:
        ray.shutdown()
        torch.set_num_threads(threads)
