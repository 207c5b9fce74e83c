"""Wrappers for single environments; `tile_envs.wrappers.vector` has the same for vector ones."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import DTypeLike

from tile_envs.wrappers.transforms import MaskBeside, Planes, check_has_score, log2

__all__ = ["Log2Reward", "MaskInObservation", "OneHotPlanes"]


class _TransformObservation(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Passes every observation, with its info, through a transform."""

    def __init__(self, env: gym.Env[Any, Any], transform: Planes | MaskBeside) -> None:
        super().__init__(env)
        self.observation_space = transform.space
        self._transform = transform

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return self._transform(observation, info), info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._transform(observation, info), reward, terminated, truncated, info


class OneHotPlanes(_TransformObservation):
    """The board as one-hot planes `(P, R, C)`, channel first, for convolutions.

    Plane 0 marks the empty cells.  In the sliding games plane t marks the tiles of index t (18
    planes for 2048, 32 for 2584); in tic-tac-toe plane 1 marks one's own cells, plane 2 the
    other's.

    Args:
        env: Any environment of this package.
        dtype: That of the planes.

    Raises:
        ValueError: If the observations are not boards.
    """

    def __init__(self, env: gym.Env[Any, Any], dtype: DTypeLike = np.uint8) -> None:
        RecordConstructorArgs.__init__(self, dtype=np.dtype(dtype).name)
        super().__init__(env, Planes(env.observation_space, dtype))


class MaskInObservation(_TransformObservation):
    """The action mask beside the observation, in a dictionary, for libraries that want it there.

    | library | `observation_key` | `mask_key` |
    |---|---|---|
    | PettingZoo, LightZero (the default) | `"observation"` | `"action_mask"` |
    | RLlib | `"observations"` | `"action_mask"` |
    | Tianshou | `"obs"` | `"mask"` |

    Args:
        env: Any environment of this package, or one wrapped already.
        observation_key: Where the observation goes.
        mask_key: Where the mask goes, `(actions,) int8`.

    Raises:
        ValueError: If the two keys are the same, or the actions are not discrete.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        observation_key: str = "observation",
        mask_key: str = "action_mask",
    ) -> None:
        RecordConstructorArgs.__init__(self, observation_key=observation_key, mask_key=mask_key)
        space, actions = env.observation_space, env.action_space
        super().__init__(env, MaskBeside(space, actions, observation_key, mask_key))


class Log2Reward(gym.RewardWrapper[Any, Any], RecordConstructorArgs):
    """The logarithm to the base 2 of the reward of a sliding game; 0 stays 0.

    Faces grow exponentially with the work that goes into them; their logarithms do not.

    Args:
        env: An environment of a sliding game.

    Raises:
        ValueError: If the game is tic-tac-toe.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        check_has_score(env.unwrapped)
        RecordConstructorArgs.__init__(self)
        gym.RewardWrapper.__init__(self, env)

    def reward(self, reward: SupportsFloat) -> float:
        """Return the logarithm of a reward."""
        return float(log2(reward))
