"""The native vector environments as a `VecEnv` of Stable-Baselines3, at native speed.

SB3 takes single environments or its own kind of vector environment, but none of Gymnasium's.  With
this adapter its algorithms, and those of sb3-contrib, train on hundreds of games at once:

    envs = SB3VecEnv(gym.make_vec("Tiles2048-v0", 256, autoreset_mode="SameStep"))
    MaskablePPO("MlpPolicy", envs).learn(1_000_000)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from tile_envs.game_vector_env import GameVectorEnv

Indices = None | int | Iterable[int]

PER_GAME = ("action_masks", "render")


class SB3VecEnv(VecEnv):
    """A native vector environment as a vector environment of Stable-Baselines3.

    A step returns observations `(n, …)`, rewards `(n,) float32`, dones `(n,) bool` and a list of n
    infos.  A game that has ended is reset in the same step.  Its info is then the last one of the
    ended game, with `terminal_observation`, and with `episode`, which holds the return `r`, the
    length `l` and the seconds `t` as in SB3's `Monitor`.  All other infos hold only
    `TimeLimit.truncated`, which saves time.  Masks come from `env_method("action_masks")`, which
    sb3-contrib's MaskablePPO calls.

    Args:
        envs: A vector environment from `gym.make_vec`, with `autoreset_mode="SameStep"`.

    Attributes:
        envs: The native vector environment.
        episodes: The number of games that have ended.
        seconds: The wall-clock time of all steps.

    Raises:
        ValueError: If it is another environment, or another autoreset mode.
    """

    def __init__(self, envs: GameVectorEnv[Any, Any]) -> None:
        if not isinstance(envs, GameVectorEnv):
            raise ValueError(
                f"SB3VecEnv takes vector environments of tile_envs, got {type(envs).__name__}: "
                'make them by gym.make_vec(id, n, autoreset_mode="SameStep"), unwrapped.'
            )
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                f"Stable-Baselines3 expects ended games to be reset in the same step, got "
                f'{envs.autoreset_mode}: pass autoreset_mode="SameStep" to gym.make_vec.'
            )
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._actions = np.zeros(self.num_envs, np.int64)
        self._returns, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        self._built, self.seconds, self.episodes = time.time(), 0.0, 0

    def reset(self) -> NDArray[Any]:
        """Start new games, with the seeds and options that `seed` and `set_options` have left.

        Raises:
            ValueError: If the options are not the same for all games.
        """
        if any(options != self._options[0] for options in self._options):
            raise ValueError("all games start alike: pass set_options one dictionary, not a list.")
        seeds: Any = None if None in self._seeds else self._seeds
        observations, _ = self.envs.reset(seed=seeds, options=self._options[0] or None)
        self._returns[:], self._lengths[:] = 0, 0
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions of the next step, `(n,)`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Play the step.

        Raises:
            ValueError: If an action is outside the action space.
        """
        began = time.perf_counter()
        observations, rewards, terminations, truncations, found = self.envs.step(self._actions)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        ends = terminations | truncations
        self._returns += rewards
        self._lengths += 1
        if ends.any():
            final, since = found["final_info"], round(time.time() - self._built, 6)
            last = {name: values for name, values in final.items() if not name.startswith("_")}
            truncated = truncations & ~terminations
            for game in np.flatnonzero(ends):
                info = infos[game]
                for name, values in last.items():
                    info[name] = values[game]
                info["terminal_observation"] = found["final_obs"][game]
                info["TimeLimit.truncated"] = bool(truncated[game])
                info["episode"] = {
                    "r": float(self._returns[game]),
                    "l": int(self._lengths[game]),
                    "t": since,
                }
        self._returns[ends], self._lengths[ends] = 0, 0
        self.episodes += int(ends.sum())
        self.seconds += time.perf_counter() - began
        return observations, rewards.astype(np.float32), ends, infos

    def get_state(self) -> dict[str, Any]:
        """Return the complete state of the games, for `set_state`."""
        episodes = {"returns": self._returns.copy(), "lengths": self._lengths.copy()}
        return self.envs.get_state() | episodes | {"ended_games": self.episodes}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state that `get_state` returned.

        Raises:
            ValueError: If it is one of other games; nothing has changed then.
        """
        games = dict(state)
        returns, lengths = games.pop("returns"), games.pop("lengths")
        ended = int(games.pop("ended_games"))
        self.envs.set_state(games)
        self._returns[:], self._lengths[:], self.episodes = returns, lengths, ended

    def close(self) -> None:
        """Close the games."""
        self.envs.close()

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method that answers for every game: `action_masks` or `render`.

        Raises:
            AttributeError: If it is another.
        """
        if method_name not in PER_GAME:
            raise AttributeError(
                f"SB3VecEnv calls {' and '.join(PER_GAME)} for each game, not {method_name!r}: "
                "the games live together in its attribute `envs`."
            )
        answers = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        if indices is None:
            return list(answers)
        return [answers[game] for game in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute, once for each index.

        Raises:
            AttributeError: If the games have no such attribute.
        """
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Refuse: the games share everything but their boards.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(f"make games with another {attr_name} by gym.make_vec instead.")

    def env_is_wrapped(self, wrapper_class: Any, indices: Indices = None) -> list[bool]:
        """Return that no game is wrapped, but that episodes are reported as by `Monitor`."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a picture of each game, as `render` puts them together."""
        return self.envs.render() or [None] * self.num_envs
