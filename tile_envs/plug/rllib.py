"""Single and native vector environments as RLlib takes them with action masks.

RLlib asks a function that `register_env` gets for single environments, or, in the mode
`"vector_entry_point"`, for a vector environment of `config["num_envs"]` games:

    def games(config):
        return masked(OneHotPlanes(gym.make_vec("Tiles2048-v0", config["num_envs"])))
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
