"""Wrappers for vector environments, in every autoreset mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorRewardWrapper, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

from tile_envs.wrappers.transforms import MaskBeside, Planes, check_has_score, log2

__all__ = ["Log2Reward", "MaskInObservation", "OneHotPlanes"]

AnyVectorEnv = VectorEnv[Any, Any, Any]


class _TransformObservation(VectorWrapper[Any, Any, Any, Any, Any]):
    """Passes all observations, final ones too, with their infos through a transform."""

    def __init__(self, env: AnyVectorEnv, transform: Planes | MaskBeside) -> None:
        super().__init__(env)
        self.single_observation_space = transform.space
        self.observation_space = batch_space(transform.space, env.num_envs)
        self._transform = transform

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observations, infos = self.env.reset(**kwargs)
        return self._transform(observations, infos), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        if "final_obs" in infos:
            final_obs, final_info = infos["final_obs"], infos["final_info"]
            for game in np.flatnonzero(infos["_final_obs"]):
                info = {"action_mask": final_info["action_mask"][game]}
                final_obs[game] = self._transform(final_obs[game], info)
        transformed = self._transform(observations, infos)
        return transformed, rewards, terminations, truncations, infos


class OneHotPlanes(_TransformObservation):
    """The boards as one-hot planes `(n, P, R, C)`; see `tile_envs.wrappers.OneHotPlanes`."""

    def __init__(self, env: AnyVectorEnv, dtype: DTypeLike = np.uint8) -> None:
        super().__init__(env, Planes(env.single_observation_space, dtype))


class MaskInObservation(_TransformObservation):
    """The masks beside the observations; see `tile_envs.wrappers.MaskInObservation`."""

    def __init__(
        self,
        env: AnyVectorEnv,
        observation_key: str = "observation",
        mask_key: str = "action_mask",
    ) -> None:
        space, actions = env.single_observation_space, env.single_action_space
        super().__init__(env, MaskBeside(space, actions, observation_key, mask_key))


class Log2Reward(VectorRewardWrapper[Any, Any, Any]):
    """The logarithms to the base 2 of the rewards; see `tile_envs.wrappers.Log2Reward`."""

    def __init__(self, env: AnyVectorEnv) -> None:
        check_has_score(env.unwrapped)
        super().__init__(env)

    def rewards(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithms of rewards."""
        logarithms: NDArray[np.float64] = log2(rewards)
        return logarithms
