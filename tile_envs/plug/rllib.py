"""Single and native vector environments as RLlib takes them with action masks.

`ActionMaskingTorchRLModule`, for PPO, finds the masks in the observations.  `masked` puts them
there; `games` makes such games in RLlib's worker processes:

    register_env("2048", games("Tiles2048-v0", wrappers=["Log2Reward", "OneHotPlanes"]))
    config = PPOConfig().environment("2048")
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from tile_envs import wrappers as ours
from tile_envs.base.checks import checked_choice
from tile_envs.errors import UsageError

Games = TypeVar("Games", gym.Env[Any, Any], VectorEnv[Any, Any, Any])


def games(
    env_id: str, *, wrappers: Sequence[str] = (), autoreset_mode: str = "NextStep", **options: Any
) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that makes `masked` games, for `ray.tune.registry.register_env`.

    Of an `env_config` with `num_envs`, as in the mode `vector_entry_point`, it makes a vector
    environment, else a single one.  RLlib calls it in its worker processes, where an error ends in
    an `IndexError` of RLlib: so it is tried here first.

    Args:
        env_id: The id of an environment of this package, or of your own game, `module:Id-v0`.
        wrappers: Names of wrappers, the innermost first: `"Log2Reward"`, `"OneHotPlanes"`.
        autoreset_mode: That of vector environments; RLlib takes only `"NextStep"`.
        **options: The environment's options; RLlib's `env_config` adds to them.
    """
    known = ("Log2Reward", "OneHotPlanes")
    names = tuple(checked_choice(name, "a wrapper", known) for name in wrappers)

    def create(config: Mapping[str, Any]) -> Any:
        env: Any
        arguments = options | {**config}
        if "num_envs" in arguments:
            env = gym.make_vec(env_id, autoreset_mode=autoreset_mode, **arguments)
        else:
            env = gym.make(env_id, **arguments)
        for name in names:
            env = getattr(ours, name)(env)
        return masked(env)

    create({"num_envs": 1}).close()
    return create


def masked(env: Games) -> Games:
    """Put observations and masks together for RLlib's `ActionMaskingTorchRLModule`.

    Args:
        env: An environment of this package, or a native vector environment with
            `autoreset_mode="NextStep"`; wrapped already, or not.  In another mode, RLlib would take
            the observations of new games for those of ended ones, without a word.

    Returns:
        The environment with observations `{"observations": …, "action_mask": …}`: flat
        `(size,) float32` and `(actions,) float32`, of a vector environment `(num_envs, …)`.
    """
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    # Gymnasium 1.2 notes the mode of a `SyncVectorEnv` in the class of its single environments.
    if isinstance(env, VectorEnv) and mode is not AutoresetMode.NEXT_STEP:
        raise UsageError(
            f"RLlib expects ended games to be reset in the next step, got {mode.value!r}: "
            'pass autoreset_mode="NextStep" to gym.make_vec, or leave it out.'
        )
    kinds: Any = ours  # for vector environments, too
    flat = kinds.FlatObservation(env)
    return kinds.MaskInObservation(flat, "observations", mask_dtype=np.float32)  # type: ignore[no-any-return]
