"""Single and native vector environments as RLlib takes them with action masks.

`ActionMaskingTorchRLModule`, for PPO, finds the masks in the observations.  RLlib's own vector
environments are made of single ones, by a function that RLlib calls in its worker processes:

## RLlib, single environments

    import gymnasium as gym
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
    from ray.tune.registry import register_env

    from tile_envs.plug.rllib import masked
    from tile_envs.wrappers import Log2Reward, OneHotPlanes

    register_env("2048", lambda _: masked(OneHotPlanes(Log2Reward(gym.make("Tiles2048-v0")))))
    config = PPOConfig().environment("2048").training(num_epochs=4, minibatch_size=500)
    config.training(lr=1e-3, vf_clip_param=float("inf"))  # returns are in the hundreds
    config.env_runners(num_env_runners=2, num_envs_per_env_runner=8)
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
    algorithm = config.build_algo()
    algorithm.train()
    module = algorithm.get_module()

In the mode `vector_entry_point` RLlib asks the same function for a vector environment:

## RLlib, native vector environments

    import gymnasium as gym
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
    from ray.tune.registry import register_env

    from tile_envs.plug.rllib import masked

    register_env("oxo", lambda config: masked(gym.make_vec("TicTacToe-v0", config["num_envs"])))
    config = PPOConfig().environment("oxo").training(lr=1e-3, num_epochs=4, minibatch_size=500)
    config.env_runners(gym_env_vectorize_mode="vector_entry_point")
    config.env_runners(num_env_runners=2, num_envs_per_env_runner=64)
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
    algorithm = config.build_algo()
    algorithm.train()
    module = algorithm.get_module()
"""

from __future__ import annotations

from typing import Any, overload

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from tile_envs import wrappers
from tile_envs.wrappers import vector

AnyEnv = gym.Env[Any, Any]
AnyVectorEnv = VectorEnv[Any, Any, Any]


@overload
def masked(env: AnyEnv) -> AnyEnv: ...
@overload
def masked(env: AnyVectorEnv) -> AnyVectorEnv: ...
def masked(env: AnyEnv | AnyVectorEnv) -> AnyEnv | AnyVectorEnv:
    """Put observations and masks together for RLlib's `ActionMaskingTorchRLModule`.

    Args:
        env: An environment of this package, or a native vector environment with
            `autoreset_mode="NextStep"`; wrapped already, or not.

    Returns:
        The environment with observations `{"observations": …, "action_mask": …}`: flat
        `(size,) float32`, and masks `(actions,) float32`; of a vector environment with a leading
        axis of `num_envs`.

    Raises:
        ValueError: If the observations are not arrays, or the autoreset mode is another: RLlib
            would take the observations of new games for those of ended ones, without a word.
    """
    if not isinstance(env, VectorEnv):
        flat = wrappers.FlatObservation(env)
        return wrappers.MaskInObservation(flat, "observations", mask_dtype=np.float32)
    mode = env.metadata["autoreset_mode"]
    if mode is not AutoresetMode.NEXT_STEP:
        raise ValueError(
            f"RLlib expects ended games to be reset in the next step, got {mode.value!r}: "
            'pass autoreset_mode="NextStep" to gym.make_vec, or leave it out.'
        )
    rows = vector.FlatObservation(env)
    return vector.MaskInObservation(rows, "observations", mask_dtype=np.float32)
