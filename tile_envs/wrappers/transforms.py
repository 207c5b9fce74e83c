"""What the wrappers do to an observation or a reward, for one game or for many alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray


class Planes:
    """One-hot planes, channel first.

    Plane 0 marks the empty cells.  In the sliding games plane t marks the tiles of index t; in
    tic-tac-toe plane 1 marks one's own cells and plane 2 the other's.
    """

    def __init__(self, space: spaces.Space[Any], dtype: DTypeLike) -> None:
        if (
            not isinstance(space, spaces.Box)
            or space.dtype.kind not in "iu"
            or len(space.shape) != 2
        ):
            raise ValueError(
                f"one-hot planes are made of boards, Box(…, (R, C), integers), got {space}: "
                "wrap the environment before other observation wrappers."
            )
        low, high = int(space.low.min()), int(space.high.max())
        values = [*range(high + 1), *range(low, 0)]
        self.space = spaces.Box(0, 1, (len(values), *space.shape), np.dtype(dtype).type)
        self._values = np.array(values, space.dtype)[:, None, None]

    def __call__(self, observations: NDArray[Any], infos: dict[str, Any]) -> NDArray[Any]:
        """Turn boards `(..., R, C)` into planes `(..., P, R, C)`."""
        planes: NDArray[Any] = observations[..., None, :, :] == self._values
        return planes.astype(self.space.dtype)


class MaskBeside:
    """The action mask beside the observation, in a dictionary."""

    def __init__(
        self,
        space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        observation_key: str,
        mask_key: str,
    ) -> None:
        if not isinstance(action_space, spaces.Discrete):
            raise ValueError(f"action masks belong to a Discrete action space, got {action_space}.")
        if observation_key == mask_key:
            raise ValueError(
                f"observation_key and mask_key must differ, got {mask_key!r} for both."
            )
        mask = spaces.Box(0, 1, (int(action_space.n),), np.int8)
        self.space = spaces.Dict({observation_key: space, mask_key: mask})
        self._keys = observation_key, mask_key

    def __call__(self, observations: Any, infos: dict[str, Any]) -> dict[str, Any]:
        """Put observations and `infos["action_mask"]` together."""
        observation_key, mask_key = self._keys
        return {observation_key: observations, mask_key: infos["action_mask"].copy()}


def log2(rewards: Any) -> Any:
    """Return the logarithm to the base 2 of rewards; 0 stays 0."""
    return np.log2(np.maximum(rewards, 1))


def check_has_score(env: Any) -> None:
    """Check that a game's rewards have logarithms.

    Raises:
        ValueError: If it has sides, as tic-tac-toe, where rewards are 1, 0 and -1.
    """
    if env.game.sides:
        raise ValueError(f"log2 rewards are for the sliding games, got {env}.")
