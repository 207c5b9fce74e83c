"""Trains RLlib's PPO with action masks in two worker processes of 8 games each.

The games are single or native vector environments, as one-hot vectors.  Steps and illegal actions
are counted in the workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from benchmarks.libraries.clients import Client, Row, Training
from benchmarks.libraries.counting import Count, counted
from tile_envs import wrappers
from tile_envs.plug.rllib import masked
from tile_envs.wrappers import vector
from tile_envs.wrappers.transforms import Planes

SINGLE, NATIVE = "2 × 8 single", "2 × 8 native"
WORKERS, GAMES = 2, 8
SLIDING, TICTACTOE = "Tiles2048-v0", "TicTacToe-v0"
REWARD_SCALE = {SLIDING: 0.05, TICTACTOE: 1.0}
"""Keeps the values that the network learns near 1."""
HIDDEN = [128, 128]
STEPS = {SLIDING: 400_000, TICTACTOE: 60_000}
SETTINGS: dict[str, Row] = {
    SLIDING: {
        "train_batch_size_per_learner": 8000,
        "minibatch_size": 1000,
        "gamma": 0.95,
        "lambda_": 0.9,
        "vf_clip_param": float("inf"),
    },
    TICTACTOE: {
        "train_batch_size_per_learner": 4000,
        "minibatch_size": 500,
        "gamma": 1.0,
        "lambda_": 0.95,
    },
}
SHARED = {"lr": 1e-3, "num_epochs": 4, "entropy_coeff": 0.01}
SEED = 0

CLIENTS = [
    Client(
        library="RLlib",
        package="ray",
        module="ray",
        algorithm="PPO",
        env=env,
        games=games,
        autoreset="NextStep",
    )
    for env, games in ((SLIDING, SINGLE), (SLIDING, NATIVE), (TICTACTOE, SINGLE))
]


def train(client: Client) -> tuple[Policy, Training]:
    """Train a client in worker processes; return its agent, and what the workers have counted."""
    with _ray():
        return _trained(client.env, client.games)


def _trained(env: str, kind: str) -> tuple[Policy, Training]:
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
    from ray.tune.registry import register_env

    register_env("games", _games)
    config = (
        PPOConfig()
        .environment("games", env_config={"id": env})
        .env_runners(
            num_env_runners=WORKERS,
            num_envs_per_env_runner=GAMES,
            gym_env_vectorize_mode="vector_entry_point" if kind == NATIVE else "sync",
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule,
                model_config={"fcnet_hiddens": HIDDEN, "fcnet_activation": "relu"},
            )
        )
        .training(**SHARED, **SETTINGS[env])
        .debugging(seed=SEED)
    )
    algorithm = config.build_algo()
    try:
        workers = algorithm.env_runner_group
        workers.foreach_env_runner(_begin_counting, local_env_runner=False)
        began, steps = time.perf_counter(), 0
        while steps < STEPS[env]:
            steps = int(algorithm.train()["num_env_steps_sampled_lifetime"])
        minutes = (time.perf_counter() - began) / 60
        counts: list[Count] = workers.foreach_env_runner(_count, local_env_runner=False)
        assert sum(count.steps for count in counts) >= steps
        illegal = sum(count.illegal for count in counts)
        return Policy(algorithm.get_module(), env), Training(steps, minutes, illegal)
    finally:
        algorithm.stop()


def _begin_counting(worker: Any) -> None:
    worker.counting = counted()  # lasts as long as the worker
    worker.count = worker.counting.__enter__()


def _count(worker: Any) -> Count:
    count: Count = worker.count
    return count


def _games(config: Row) -> Any:
    """Make games as a worker asks for them: `num_envs` of them, or a single one."""
    env, scale = config["id"], REWARD_SCALE[config["id"]]
    if "num_envs" in config:
        envs: Any = gym.make_vec(env, config["num_envs"])
        envs = vector.Log2Reward(envs) if env == SLIDING else envs
        envs = gym.wrappers.vector.TransformReward(envs, lambda rewards: rewards * scale)
        return masked(vector.OneHotPlanes(envs))
    one: Any = gym.make(env)
    one = wrappers.Log2Reward(one) if env == SLIDING else one
    one = gym.wrappers.TransformReward(one, lambda reward: float(reward) * scale)
    return masked(wrappers.OneHotPlanes(one))


class Policy:
    """A trained module as an agent: it plays the most probable action.

    Args:
        module: The module, which masks its own logits.
        env: The id of the environment that it has learned in.
    """

    def __init__(self, module: Any, env: str) -> None:
        self._module, self._planes = module, Planes(gym.make(env).observation_space, np.float32)

    def predict(
        self, observation: NDArray[Any], action_masks: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return an action for each board `(n, R, C)`."""
        import torch

        rows = self._planes(observation, {}).reshape(len(observation), -1)
        masks = action_masks.astype(np.float32)
        batch = {"observations": torch.from_numpy(rows), "action_mask": torch.from_numpy(masks)}
        with torch.no_grad():
            logits = self._module.forward_inference({"obs": batch})["action_dist_inputs"]
        actions: NDArray[np.int64] = logits.argmax(dim=1).numpy()
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
