"""The native vector environments as a `VecEnv` of Stable-Baselines3, at native speed.

SB3's own `evaluate_policy` and `EvalCallback` ignore masks without a warning: take sb3-contrib's.
Algorithms without masks need `ReplaceIllegal`, and PPO and A2C also `PenalizeIllegal` around it;
their models play legally as `Replacing(model)`.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from tile_envs.base import checks
from tile_envs.base.engine import AUTO, Final, Transition
from tile_envs.base.vector_env import METHODS, PER_GAME, SINGLE, GameVectorEnv
from tile_envs.errors import UsageError, extra
from tile_envs.game import Bools
from tile_envs.games import AnyEnv, ids, named
from tile_envs.wrappers.transforms import COUNT, UNSHAPED, legalized

with extra("sb3"):
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv

    from tile_envs.plug.features import BoardFeatures

__all__ = ["BoardFeatures", "LogScores", "Replacing", "SB3VecEnv", "make_sb3"]

Indices = None | int | Iterable[int]
AnyVectorEnv = VectorEnv[Any, Any, Any]


def make_sb3(
    env_id: AnyEnv,
    n_envs: int = 1,
    *,
    seed: int | None = None,
    wrappers: Iterable[Callable[[Any], AnyVectorEnv]] = (),
    reward_scale: float = 1.0,
    env_kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> "SB3VecEnv":
    """Make many games as one vector environment of Stable-Baselines3.

    Args:
        env_id: An environment of this package, or its id.
        n_envs: The number of games.
        seed: The seed of the first `reset`; game i is seeded by `seed + i`.
        wrappers: Wrappers of `tile_envs.wrappers`, the innermost first; with arguments as
            `functools.partial(PenalizeIllegal, penalty=1.0)`.
        reward_scale: Factor of the rewards: value functions learn badly from thousands of points.
        env_kwargs: The environment's options in a dictionary.
        **options: The environment's options, `threads`, and `engine`, which is "auto" here.
    """
    named_id, given = named(env_id, env_kwargs)
    if (name := named_id.rpartition(":")[2]) in gym.registry and name not in ids():
        raise UsageError(f"{name} is no environment of tile_envs: expected {', '.join(ids())}.")
    if callable(wrappers):
        raise UsageError(f"wrappers must be a list of wrappers, got {wrappers!r}.")
    options = {"engine": AUTO} | (given or {}) | options
    envs: Any = gym.make_vec(named_id, n_envs, autoreset_mode="SameStep", **options)
    for wrap in wrappers:
        envs = wrap(envs)
    vec_env = SB3VecEnv(envs, reward_scale)
    vec_env.seed(seed)
    return vec_env


class SB3VecEnv(VecEnv):
    """A native vector environment as a vector environment of Stable-Baselines3.

    A step returns observations `(n, …)`, rewards `(n,) float32`, dones `(n,) bool` and a list of n
    infos.  A game that has ended is reset in the same step.  Its info is the last one of the ended
    game, with `terminal_observation`; with `is_success`, whether it was won (the goal of a sliding
    game was reached); and with `episode`: the return `r`, the length `l` and the seconds `t`, as in
    SB3's `Monitor`.  To save time, other infos hold only `action_mask`, `illegal`,
    `TimeLimit.truncated` and what wrappers of rewards add.  `env_method("action_masks")`, which
    MaskablePPO calls, returns the masks of the present boards, `(actions,) bool`.

    Args:
        envs: A vector environment from `gym.make_vec` with `autoreset_mode="SameStep"`, with or
            without wrappers of `tile_envs.wrappers`.
        reward_scale: Factor of the rewards; `episode` has them without it.

    Attributes:
        games: The native vector environment inside the wrappers.
        episodes: The number of games that have ended.
        seconds: The wall-clock time of all steps.
    """

    def __init__(self, envs: AnyVectorEnv, reward_scale: float = 1.0) -> None:
        games = envs.unwrapped
        mode = getattr(games, "autoreset_mode", None)
        if not isinstance(games, GameVectorEnv) or mode is not AutoresetMode.SAME_STEP:
            raise UsageError(
                'SB3VecEnv takes vector environments of tile_envs with autoreset_mode="SameStep", '
                f"as gym.make_vec makes them, got {type(envs).__name__} with {mode}."
            )
        self.envs, self.games, self.reward_scale = envs, games, reward_scale
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self.metadata["render_fps"] = games.metadata["render_fps"]
        self._advance = envs.advance if envs is games else partial(_advance_wrapped, envs)
        self._actions = np.zeros(self.num_envs, np.int64)
        self._returns, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        self._built, self.seconds, self.episodes = time.time(), 0.0, 0

    def reset(self) -> NDArray[Any]:
        """Start new games, by the seed and the options that were set, options alike for all."""
        first = self._options[0]  # arrays in options are not compared
        if any(options is not first and (options or first) for options in self._options):
            raise UsageError("all games start alike: pass set_options one dictionary, not a list.")
        seeds: Any = None if None in self._seeds else self._seeds
        observations: NDArray[Any]
        observations, infos = self.envs.reset(seed=seeds, options=first or None)
        masks = infos["action_mask"].view(np.bool_)
        self.reset_infos = [{"action_mask": mask, "illegal": False} for mask in masks]
        self._returns[:], self._lengths[:] = 0, 0
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        began = time.perf_counter()
        outcome = self._advance(self._actions)
        ends = outcome.terminations | outcome.truncations
        masks = outcome.infos["action_mask"].view(np.bool_)
        infos: list[dict[str, Any]] = [
            {"TimeLimit.truncated": False, "action_mask": mask, "illegal": illegal}
            for mask, illegal in zip(masks, outcome.infos["illegal"].tolist(), strict=True)
        ]
        for name in (COUNT, UNSHAPED):
            if name in outcome.infos:
                for info, value in zip(infos, outcome.infos[name].tolist(), strict=True):
                    info[name] = value
        self._returns += outcome.rewards
        self._lengths += 1
        if outcome.final is not None:
            self._finish(outcome.final, outcome.terminations, infos)
        self.seconds += time.perf_counter() - began
        rewards = outcome.rewards.astype(np.float32) * np.float32(self.reward_scale)
        return outcome.observations, rewards, ends, infos

    def _finish(self, final: Final, terminations: Bools, infos: list[dict[str, Any]]) -> None:
        games, since = final.games, round(time.time() - self._built, 6)
        truncated = (~terminations[games]).tolist()
        returns, lengths = self._returns[games].tolist(), self._lengths[games].tolist()
        last = {
            name: values if values.ndim > 1 else values.tolist()
            for name, values in final.infos.items()
        }
        last["is_success"] = self.games.game.is_success(final.infos).tolist()
        last["action_mask"] = final.infos["action_mask"].view(np.bool_)
        for k, game in enumerate(games.tolist()):
            infos[game] = {name: values[k] for name, values in last.items()} | {
                "terminal_observation": final.observations[k],
                "TimeLimit.truncated": truncated[k],
                "episode": {"r": returns[k], "l": lengths[k], "t": since},
            }
        self._returns[games], self._lengths[games] = 0, 0
        self.episodes += len(games)

    def get_state(self) -> dict[str, Any]:
        """Return the complete state of the games, for `set_state`; wrappers keep their own."""
        own = {"returns": self._returns.copy(), "lengths": self._lengths.copy()}
        return self.games.get_state() | own | {"ended_games": self.episodes}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state that `get_state` returned; if it is refused, nothing has changed."""
        games = checks.checked_mapping(state, "state")
        names = "returns", "lengths", "ended_games"
        returns, lengths, ended = (games.pop(name, None) for name in names)
        checks.check_like(returns, self._returns, "state['returns']")
        checks.check_like(lengths, self._lengths, "state['lengths']")
        ended = checks.checked_integer(ended, "state['ended_games']")
        self.games.set_state(games)
        self._returns[:], self._lengths[:], self.episodes = returns, lengths, ended

    def close(self) -> None:
        self.envs.close()

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method that answers for every game, as `GameVectorEnv.call` does."""
        answers = self.games.call(method_name, *method_args, **method_kwargs)
        return [answers[i] for i in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of games: what they share, or each its own (`seeds`, `ended`)."""
        games = self._get_indices(indices)
        envs = self.envs if attr_name in SINGLE else self.games  # wrappers change spaces
        value = getattr(envs, SINGLE.get(attr_name, attr_name))
        if attr_name in METHODS:
            return [lambda i=i: self.env_method(attr_name, indices=i)[0] for i in games]
        return [value[i] if attr_name in PER_GAME else value for i in games]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        self.games.set_attr(attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Indices = None) -> list[bool]:
        """Return that no game is wrapped, but that episodes are reported as by `Monitor`."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def _get_indices(self, indices: Indices) -> list[int]:
        """Return indices as a list; SB3's own way checks none."""
        if indices is None:
            return [*range(self.num_envs)]
        n, array = self.num_envs, checks.as_array(indices)
        is_whole = array.dtype.kind in "iu" or not array.size
        if not is_whole or not all(-n <= i < n for i in array.flat):
            expected = f"integers from 0 to {n - 1}"
            raise UsageError(f"indices must be {expected}, got {checks.brief(indices)}.")
        return array.ravel().tolist()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a picture of each game, as `render` puts them together."""
        pictures: Any = self.envs.render()
        return pictures or [None] * self.num_envs


class LogScores(BaseCallback):
    """Logs the mean score, in tic-tac-toe the result, of the last 100 games as `rollout/score`."""

    def __init__(self) -> None:
        super().__init__()
        self._scores: deque[float] = deque(maxlen=100)

    def _on_step(self) -> bool:
        ended = [info for info in self.locals["infos"] if "episode" in info]
        self._scores.extend(info.get("score", info["episode"]["r"]) for info in ended)
        if ended:
            self.logger.record("rollout/score", float(np.mean(self._scores)))
        return True


class Replacing:
    """A model without masks as an agent: its illegal actions are replaced by random legal ones.

    Args:
        model: A model of Stable-Baselines3.
        seed: Seed of the random actions.
        observe: What the model sees of boards `(n, R, C)`; by default the boards themselves.
    """

    def __init__(self, model: Any, seed: int = 0, observe: Callable[..., Any] = np.asarray) -> None:
        self.model, self.observe = model, observe
        self._rng = np.random.default_rng(seed)

    def predict(self, observation: NDArray[Any], action_masks: Bools) -> NDArray[np.int64]:
        """Return legal actions `(n,)` for boards `(n, R, C)` and masks `(n, actions)`."""
        chosen, _ = self.model.predict(self.observe(observation), deterministic=True)
        return legalized(self._rng, chosen, action_masks)


def _advance_wrapped(envs: AnyVectorEnv, actions: NDArray[Any]) -> Transition:
    observations, rewards, terminations, truncations, infos = envs.step(actions)
    final = None
    if "final_info" in infos:
        games = np.flatnonzero(infos["_final_info"])
        last = {n: v[games] for n, v in infos["final_info"].items() if not n.startswith("_")}
        final = Final(games, infos["final_obs"][games], last)
    return Transition(observations, rewards, terminations, truncations, infos, final)
