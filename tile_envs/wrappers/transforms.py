"""What the wrappers do to an observation or a reward, for one game or for many alike."""

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray

from tile_envs.base.checks import as_number, checked_choice
from tile_envs.base.random_stream import Words, choose, mix
from tile_envs.errors import UsageError
from tile_envs.game import Bools, Ints
from tile_envs.sliding.rules import MOVE_LIMIT

ORDER = "Log2Reward", "ShapeReward", "ReplaceIllegal", "PenalizeIllegal"
"""The wrappers of rewards and actions, from the game outwards, of which each is used once."""
COUNT = "illegal_actions"
"""The key of an info that holds the number of illegal actions since the last reset."""
UNSHAPED = "unshaped_reward"
"""The key of an info that holds the reward without what a potential has added."""


def space_of(env: Any) -> Any:
    """Return the space of one observation: of one game, of one of many, or the space itself."""
    return getattr(env, "single_observation_space", getattr(env, "observation_space", env))


class Planes:
    """One-hot planes, channel first; see `tile_envs.wrappers.OneHotPlanes`."""

    def __init__(self, env: Any, dtype: DTypeLike = np.uint8) -> None:
        space = checked_boards_space(env, "one-hot planes")
        low, high = int(space.low.min()), int(space.high.max())
        # The content of the cells that each plane marks, `(P,)`.
        self.values = np.array([*range(high + 1), *range(low, 0)], space.dtype)
        self.space = spaces.Box(0, 1, (len(self.values), *space.shape), np.dtype(dtype).type)

    def __call__(self, observations: NDArray[Any], infos: dict[str, Any]) -> NDArray[Any]:
        """Turn boards `(..., R, C)` into planes `(..., P, R, C)`."""
        planes: NDArray[Any] = observations[..., None, :, :] == self.values[:, None, None]
        return planes.astype(self.space.dtype)


class Flat:
    """All entries of an observation in a row, of a given dtype."""

    def __init__(self, env: Any, dtype: DTypeLike = np.float32) -> None:
        if not isinstance(space := space_of(env), spaces.Box):
            raise UsageError(
                f"flat observations are made of arrays, got {space}: wrap the environment before "
                "MaskInObservation."
            )
        self._axes, self._size = len(space.shape), math.prod(space.shape)
        kind = np.dtype(dtype)
        low, high = (bound.ravel().astype(kind) for bound in (space.low, space.high))
        if (low != space.low.ravel()).any() or (high != space.high.ravel()).any():
            raise UsageError(f"dtype must hold all values of {space}, got {kind}.")
        self.space = spaces.Box(low, high, dtype=kind.type)

    def __call__(self, observations: NDArray[Any], infos: dict[str, Any]) -> NDArray[Any]:
        """Turn arrays `(..., *shape)` into `(..., size)`."""
        games = observations.shape[: observations.ndim - self._axes]
        return observations.reshape(*games, self._size).astype(self.space.dtype)


class MaskBeside:
    """The action mask beside the observation, in a dictionary."""

    def __init__(
        self,
        env: Any,
        observation_key: str = "observation",
        mask_key: str = "action_mask",
        mask_dtype: DTypeLike = np.int8,
        mask_space: str = "Box",
    ) -> None:
        action_space = getattr(env, "single_action_space", env.action_space)
        if not isinstance(action_space, spaces.Discrete):
            raise UsageError(f"action masks belong to a Discrete action space, got {action_space}.")
        if observation_key == mask_key:
            raise UsageError(f"observation_key and mask_key must differ, got {mask_key!r} twice.")
        self._dtype, n = np.dtype(mask_dtype), int(action_space.n)
        checked_choice(self._dtype.name, "mask_dtype", ("int8", "bool", "float32"))
        mask: Any = spaces.Box(0, 1, (n,), self._dtype.type)
        if checked_choice(mask_space, "mask_space", ("Box", "MultiBinary")) == "MultiBinary":
            if self._dtype != np.int8:
                raise UsageError(f'MultiBinary holds int8, got {self._dtype}: pass "Box".')
            mask = spaces.MultiBinary(n)
        self.space = spaces.Dict({observation_key: space_of(env), mask_key: mask})
        self._keys = observation_key, mask_key

    def __call__(self, observations: Any, infos: dict[str, Any]) -> dict[str, Any]:
        """Put observations and `infos["action_mask"]` together."""
        mask = infos["action_mask"].astype(self._dtype)
        return dict(zip(self._keys, (observations, mask), strict=True))


class AfterstatesBeside(MaskBeside):
    """What the actions make of a board, beside it and the action mask, in a dictionary."""

    def __init__(self, env: Any) -> None:
        self._game = checked_game(env, "AfterstatesInObservation")
        boards, n = checked_boards_space(env, "afterstates"), self._game.n_actions
        super().__init__(env)
        low, high = boards.low.min(), boards.high.max()
        after = spaces.Box(low, high, (n, *boards.shape), boards.dtype.type)
        rewards = spaces.Box(0, MOVE_LIMIT, (n,), np.int64)
        self.space = spaces.Dict({**self.space, "afterstates": after, "rewards": rewards})

    def __call__(self, observations: Any, infos: dict[str, Any]) -> dict[str, Any]:
        """Put boards `(..., R, C)`, their masks and their afterstates together."""
        *games, rows, columns = observations.shape
        after, rewards, _ = self._game.afterstates(observations.reshape(-1, rows, columns))
        return super().__call__(observations, infos) | {
            "afterstates": after.reshape(*games, -1, rows, columns),
            "rewards": rewards.reshape(*games, -1),
        }


def checked_penalty(penalty: float) -> float:
    """Return what an illegal action costs; a `ValueError` says what it may be."""
    number = as_number(penalty)
    if number is None or not 0 <= number < math.inf:
        raise UsageError(f"penalty must be a finite number of at least 0, got {penalty!r}.")
    return number


def checked_boards_space(env: Any, what: str) -> spaces.Box:
    """Return the space of observations that are boards, of which something is made."""
    space: spaces.Box = space_of(env)
    is_board = isinstance(space, spaces.Box) and space.dtype.kind in "iu" and len(space.shape) == 2
    if not is_board or space != space_of(getattr(env, "unwrapped", env)):
        raise UsageError(
            f"{what} are made of boards, Box(…, (R, C), integers), got {space}: "
            "leave out other wrappers of observations, or put them outside."
        )
    return space


def checked_game(env: Any, name: str) -> Any:
    """Return the game that a wrapper of this name goes around."""
    if not hasattr(env.unwrapped, "game"):
        raise UsageError(
            f"{name} wraps environments of tile_envs, native ones where they are many, got {env}: "
            "make it by gym.make(id), or by gym.make_vec(id, n) without vectorization_mode."
        )
    return env.unwrapped.game


def check_order(env: Any, kind: type) -> None:
    """Check the order of wrappers of rewards and actions, of which a class may be one."""
    role, of_score = _role(kind), ORDER[:2]
    if role is None:
        return
    if checked_game(env, role).sides and role in of_score:  # tic-tac-toe has rewards 1, 0 and -1
        raise UsageError(f"{role} is for the sliding games, got {env}.")
    while env is not env.unwrapped:
        inner = _role(type(env))
        if inner in (role, "PenalizeIllegal") or (role, inner) == of_score:
            raise UsageError(
                f"{role} cannot go around {inner}: use each wrapper once, in the order "
                f"{', '.join(ORDER)}."
            )
        env = env.env


def _role(kind: type) -> str | None:
    """Return which of the wrappers in `ORDER` a class is, or derives from."""
    own = (base for base in kind.__mro__ if base.__module__.startswith("tile_envs.wrappers"))
    return next((base.__name__ for base in own if base.__name__ in ORDER), None)


def legalized(rng: np.random.Generator, actions: Ints, masks: Bools) -> Ints:
    """Return actions `(n,)`, the illegal ones replaced by legal ones, drawn uniformly."""
    drawn = np.where(masks, rng.random(masks.shape), -1.0).argmax(axis=1)
    return np.asarray(np.where(masks[np.arange(len(actions)), actions], actions, drawn))


def replacements(
    streams: Words, counts: NDArray[np.int64], masks: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Choose a legal action `(n,)` for each illegal one, uniformly; 0 where none is legal.

    The choice depends on the position of the game's random stream, which stays, and on the number
    of illegal actions since the last reset: one game and many have the same.
    """
    words = mix(mix(streams) + counts.astype(np.uint64))
    k = choose(words, masks.sum(axis=1).astype(np.uint64)).view(np.int64)
    choices: NDArray[np.int64] = (masks.cumsum(axis=1) > k[:, None]).argmax(axis=1)
    return choices
