"""Wrappers, each for one game or for many.

    envs = OneHotPlanes(gym.make_vec("Tiles2048-v0", 64))

Around a vector environment, the constructor returns the class of the same name in
`tile_envs.wrappers.vector`, which does the same to every game, in every autoreset mode.  A subclass
of yours is for one game; one for many derives from that class.

The order, from an environment of this package outwards: `Log2Reward`, `ShapeReward`,
`ReplaceIllegal`, `PenalizeIllegal`, `OneHotPlanes`, `FlatObservation`, `MaskInObservation` or
`AfterstatesInObservation`; leave out what you do not need.  A `ValueError` refuses another order,
and arguments and environments that are not as described.
"""

from typing import Any, ClassVar, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv
from numpy.typing import DTypeLike, NDArray

from tile_envs.base.checks import checked_action, plain
from tile_envs.errors import UsageError
from tile_envs.wrappers import transforms, vector
from tile_envs.wrappers.potentials import Potential, Shaping

AnyEnv = gym.Env[Any, Any]
Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class _Wrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """The base of all wrappers, which passes masks on; a spec holds its `arguments`."""

    def __new__(cls, env: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Wrap a vector environment in the namesake that is for many games."""
        if not isinstance(env, VectorEnv):
            return super().__new__(cls)
        if cls.__module__ != __name__:  # what it does to one game is not known for many
            raise UsageError(
                f"{cls.__name__} wraps one game, got {env}: derive one for many from its base's "
                f"namesake in {vector.__name__}."
            )
        return getattr(vector, cls.__name__)(env, *args, **kwargs)

    def __init__(self, env: AnyEnv, **arguments: Any) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **arguments)
        super().__init__(env)
        transforms.check_order(env, type(self))

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, `(actions,) bool`."""
        masks: NDArray[np.bool_] = self.env.get_wrapper_attr("action_masks")()
        return masks


class _TransformObservation(_Wrapper):
    """Passes every observation, with its info, through a transform of that `kind`."""

    kind: ClassVar[Any]

    def __init__(self, env: AnyEnv, **arguments: Any) -> None:
        super().__init__(env, **arguments)
        self._transform = self.kind(env, **arguments)
        self.observation_space = self._transform.space

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return self._transform(observation, info), info

    def step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._transform(observation, info), reward, terminated, truncated, info


class OneHotPlanes(_TransformObservation):
    """The board as one-hot planes `(P, R, C)`, channel first, for convolutions.

    Plane 0 marks the empty cells.  In the sliding games plane t marks the tiles of index t (18
    planes for 2048, 32 for 2584); in tic-tac-toe plane 1 marks one's own cells, plane 2 the
    other's.
    """

    kind = transforms.Planes

    def __init__(self, env: AnyEnv, dtype: DTypeLike = np.uint8) -> None:
        super().__init__(env, dtype=np.dtype(dtype).name)


class FlatObservation(_TransformObservation):
    """Every observation, an array, as one row of numbers, for networks that take nothing else.

    Around `OneHotPlanes` it gives one-hot vectors; alone, the tile indices.
    """

    kind = transforms.Flat

    def __init__(self, env: AnyEnv, dtype: DTypeLike = np.float32) -> None:
        super().__init__(env, dtype=np.dtype(dtype).name)


class MaskInObservation(_TransformObservation):
    """The action mask beside the observation, in a dictionary, for libraries that want it there.

    | library | `observation_key` | `mask_key` | `mask_dtype` |
    |---|---|---|---|
    | PettingZoo, LightZero (the defaults) | `"observation"` | `"action_mask"` | `int8` |
    | RLlib | `"observations"` | `"action_mask"` | `float32` |
    | Tianshou | `"obs"` | `"mask"` | `int8` or `bool` |
    | TorchRL | `"observation"` | `"action_mask"` | `bool` |

    The mask `(actions,)` is `int8`, `bool` or `float32`; its space is a `"Box"` or, of `int8`,
    `"MultiBinary"`.  That of a game that has terminated is all zero; `GameVectorEnv.action_masks`
    says why that matters.
    """

    kind = transforms.MaskBeside

    def __init__(
        self,
        env: AnyEnv,
        observation_key: str = "observation",
        mask_key: str = "action_mask",
        mask_dtype: DTypeLike = np.int8,
        mask_space: str = "Box",
    ) -> None:
        keys = {"observation_key": observation_key, "mask_key": mask_key}
        super().__init__(env, **keys, mask_dtype=np.dtype(mask_dtype).name, mask_space=mask_space)


class AfterstatesInObservation(_TransformObservation):
    """What each action makes of the board, and its reward, beside the board and the action mask.

    | key | content |
    |---|---|
    | `observation` | the board, `(R, C)` |
    | `action_mask` | `(actions,) int8` |
    | `afterstates` | `(actions, R, C)`, before the reply; the board itself for illegal actions |
    | `rewards` | `(actions,) int64`, those of the game, 0 for illegal actions |
    """

    kind = transforms.AfterstatesBeside


class Log2Reward(_Wrapper):
    """The logarithm to the base 2 of the reward of a sliding game; 0 stays 0.

    Faces grow exponentially with the work that goes into them; their logarithms do not.
    """

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)

    def step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(np.log2(max(float(reward), 1.0))), terminated, truncated, info


class ShapeReward(_Wrapper):
    """Adds `gamma * potential(board after) - potential(board before)` to the reward of each step.

    The potential is weights of `"empty"`, `"monotonicity"` and `"merges"` (see
    `tile_envs.wrappers.potentials`), such as `{"empty": 1.0, "merges": 0.5}`, or a function that
    returns `(n,)` numbers for boards `(n, R, C)`; gamma is the discount factor that the algorithm
    learns with.  On a board on which a game has terminated the potential counts as 0, so that
    optimal policies stay the same (Ng, Harada and Russell, 1999); a game that is truncated keeps
    that of its last board.  `info["unshaped_reward"]` is the reward to which it adds;
    `info["score"]` stays as it is.
    """

    def __init__(self, env: AnyEnv, potential: Potential, gamma: float) -> None:
        super().__init__(env, potential=plain(potential), gamma=plain(gamma))
        self._shaping = Shaping(env, potential, gamma)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return observation, info | {transforms.UNSHAPED: 0.0}

    def step(self, action: Any) -> Step:
        # Of the board of now, as a state may have been set since the last step.
        start = self._shaping.potentials(self.env.get_wrapper_attr("get_state")()["board"][None])
        observation, reward, terminated, truncated, info = self.env.step(action)
        added = self._shaping.added(start, observation[None], terminated)[0]
        info[transforms.UNSHAPED] = reward
        return observation, float(reward) + float(added), terminated, truncated, info


class _CountIllegal(_Wrapper):
    """Counts illegal actions in an info, subtracts a penalty for each, or replaces them."""

    _penalty, _replaces, _count = 0.0, False, 0

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        self._count = info[transforms.COUNT] = 0
        return observation, info

    def step(self, action: Any) -> Step:
        masks = self.action_masks()
        action = checked_action(action, len(masks))
        is_illegal = not masks[action]
        if is_illegal and self._replaces:
            stream = np.array([self.env.get_wrapper_attr("get_state")()["stream"]], np.uint64)
            count = np.array([self._count])
            action = int(transforms.replacements(stream, count, masks[None])[0])
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._count += is_illegal
        info[transforms.COUNT] = self._count
        reward = float(reward) - self._penalty * is_illegal
        return observation, reward, terminated, truncated, info


class PenalizeIllegal(_CountIllegal):
    """Subtracts a penalty from the reward of each illegal action, for algorithms without masks.

    It is at least 0, in the units of the rewards of `env`.  `info["illegal_actions"]` counts the
    illegal actions since the last reset.  An illegal action leaves the board as it is; to go on in
    the game nevertheless, put `ReplaceIllegal` inside.
    """

    def __init__(self, env: AnyEnv, penalty: float) -> None:
        self._penalty = transforms.checked_penalty(penalty)
        super().__init__(env, penalty=self._penalty)


class ReplaceIllegal(_CountIllegal):
    """Plays a random legal action in place of each illegal one, for algorithms without masks.

    `info["illegal_actions"]` counts the replaced actions since the last reset; no illegal action
    reaches the game.  The algorithm learns as if the game had answered its own action, so masks are
    better where an algorithm takes them.  Around it, `PenalizeIllegal` keeps a policy from settling
    on one action, which costs nothing here where it is illegal.  The game's random stream decides
    the choice, and stays where it is.
    """

    _replaces = True

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
