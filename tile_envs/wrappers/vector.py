"""Wrappers for vector environments, in every autoreset mode.

Each does to every game what its namesake in `tile_envs.wrappers` does to one.
"""

from typing import Any, ClassVar, cast

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from tile_envs.base.checks import checked_actions
from tile_envs.base.vector_env import SINGLE, GameVectorEnv
from tile_envs.game import Game
from tile_envs.wrappers import transforms
from tile_envs.wrappers.potentials import Potential, Shaping

AnyVectorEnv = VectorEnv[Any, Any, Any]
Step = tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]


class _Wrapper(VectorWrapper):
    """The base of all wrappers, which passes on what `GameVectorEnv` adds to Gymnasium's."""

    def __init__(self, env: AnyVectorEnv) -> None:
        super().__init__(env)
        transforms.check_order(env, type(self))
        self._games = cast("GameVectorEnv[Game]", env.unwrapped)

    @property
    def autoreset_mode(self) -> AutoresetMode:
        return self._games.autoreset_mode

    @property
    def game(self) -> Game:
        return self._games.game

    def sample_legal_actions(self) -> NDArray[np.int64]:
        return self._games.sample_legal_actions()

    def action_masks(self) -> NDArray[np.bool_]:
        return self._games.action_masks()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        if name in SINGLE:
            return (getattr(self, SINGLE[name]),) * self.num_envs
        return self._games.call(name, *args, **kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        return self.call(name)


class _TransformObservation(_Wrapper):
    """Passes observations, final ones too, with their infos through a transform of that `kind`."""

    kind: ClassVar[Any]

    def __init__(self, env: AnyVectorEnv, *args: Any, **kwargs: Any) -> None:
        super().__init__(env)
        self._transform = self.kind(env, *args, **kwargs)
        self.single_observation_space = self._transform.space
        self.observation_space = batch_space(self._transform.space, env.num_envs)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observations, infos = self.env.reset(**kwargs)
        return self._transform(observations, infos), infos

    def step(self, actions: Any) -> Step:
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

    kind = transforms.Planes


class FlatObservation(_TransformObservation):
    """Each observation as a row `(n, size)`; see `tile_envs.wrappers.FlatObservation`."""

    kind = transforms.Flat


class MaskInObservation(_TransformObservation):
    """The masks beside the observations; see `tile_envs.wrappers.MaskInObservation`."""

    kind = transforms.MaskBeside

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observations, infos = self.env.reset(**kwargs)
        reported = infos
        if not isinstance(self._games, GameVectorEnv):
            # Gymnasium's own environments report the masks of those games alone that were reset.
            reported = infos | {"action_mask": np.array(self._games.call("action_masks"))}
        return self._transform(observations, reported), infos


class AfterstatesInObservation(_TransformObservation):
    """What the actions make of the boards; see `tile_envs.wrappers.AfterstatesInObservation`."""

    kind = transforms.AfterstatesBeside


class Log2Reward(_Wrapper):
    """The logarithms to the base 2 of the rewards; see `tile_envs.wrappers.Log2Reward`."""

    def step(self, actions: Any) -> Step:
        observations, rewards, *ends, infos = self.env.step(actions)
        return observations, np.log2(np.maximum(rewards, 1)), *ends, infos


class ShapeReward(_Wrapper):
    """Adds the differences of a potential to the rewards; see `tile_envs.wrappers.ShapeReward`."""

    def __init__(self, env: AnyVectorEnv, potential: Potential, gamma: float) -> None:
        super().__init__(env)
        self._shaping = Shaping(env, potential, gamma)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observations, infos = self.env.reset(**kwargs)
        _report(infos, transforms.UNSHAPED, np.zeros(self.num_envs))
        return observations, infos

    def step(self, actions: Any) -> Step:
        before = self._games.get_state()  # may have been set since the last step
        start = self._shaping.potentials(before["board"])
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        after = observations
        if "final_obs" in infos:
            after, ended = observations.copy(), infos["_final_obs"]
            after[ended] = np.stack(infos["final_obs"][ended])
        added = self._shaping.added(start, after, terminations)
        _report(infos, transforms.UNSHAPED, rewards)
        # Nothing is added in the steps that only reset games.
        shaped = rewards + np.where(before["ended"], 0.0, added)
        return observations, shaped, terminations, truncations, infos


class _CountIllegal(_Wrapper):
    """Counts the illegal actions of each game, as its namesake in `tile_envs.wrappers` does."""

    _penalty, _replaces = 0.0, False

    def __init__(self, env: AnyVectorEnv) -> None:
        super().__init__(env)
        self._counts = np.zeros(self.num_envs, np.int64)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observations, infos = self.env.reset(**kwargs)
        self._counts[infos["_illegal"]] = 0  # of games that were reset
        _report(infos, transforms.COUNT, self._counts)
        return observations, infos

    def step(self, actions: Any) -> Step:
        masks, over = self.action_masks(), self._games.ended
        actions = checked_actions(actions, *masks.shape)
        # The actions of games that this step resets are ignored.
        illegal = ~masks[np.arange(len(actions)), actions] & ~over
        self._counts[over] = 0
        if self._replaces and illegal.any():
            streams, actions = self._games.get_state()["stream"], actions.copy()
            replaced = streams[illegal], self._counts[illegal], masks[illegal]
            actions[illegal] = transforms.replacements(*replaced)
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        self._counts += illegal
        _report(infos, transforms.COUNT, self._counts)
        if "final_info" in infos:
            self._counts[infos["_final_info"]] = 0
        return observations, rewards - self._penalty * illegal, terminations, truncations, infos


def _report(infos: dict[str, Any], name: str, values: NDArray[Any]) -> None:
    """Add an info of all games; of one that was reset in this step, to how it ended."""
    if "final_info" in infos:
        ended = infos["_final_info"]
        infos["final_info"] |= {name: np.where(ended, values, 0), f"_{name}": ended.copy()}
        values = np.where(ended, 0, values)
    infos[name], infos[f"_{name}"] = values.copy(), infos["_illegal"].copy()


class PenalizeIllegal(_CountIllegal):
    """Subtracts a penalty for illegal actions; see `tile_envs.wrappers.PenalizeIllegal`."""

    def __init__(self, env: AnyVectorEnv, penalty: float) -> None:
        super().__init__(env)
        self._penalty = transforms.checked_penalty(penalty)


class ReplaceIllegal(_CountIllegal):
    """Plays legal actions in place of illegal ones; see `tile_envs.wrappers.ReplaceIllegal`."""

    _replaces = True
