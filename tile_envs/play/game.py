"""A game that can be taken back: an environment, and all the positions it has been in."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator
from numpy.typing import NDArray

from tile_envs.checks import brief
from tile_envs.game_env import GameEnv, Info


class Position(NamedTuple):
    """Where a game stands.

    Attributes:
        state: What `set_state` takes to come back here; `state["board"]` is the board.
        observation: The last observation.
        info: The last info.
        total: The sum of the rewards so far.
        terminated: Whether the last action ended the game.
        truncated: Whether it was one illegal action too many.
    """

    state: Mapping[str, Any]
    observation: NDArray[Any]
    info: Info
    total: float = 0.0
    terminated: bool = False
    truncated: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing can be played: also on a dead board that the game began with."""
        return self.terminated or self.truncated or not self.info["action_mask"].any()


class Game:
    """A game that goes forwards and backwards.

    Attributes:
        env: The environment.  It stands where the game does.
        seed: What the environment was reset with.
        reset: The options that it was reset with.
        actions: What has been played since.
    """

    def __init__(
        self, env: GameEnv[Any], seed: int, reset: Mapping[str, Any] | None = None
    ) -> None:
        self.env = env
        self.seed = seed
        self.reset = dict(reset or {})
        self.actions: list[int] = []
        observation, info = env.reset(seed=seed, options=self.reset)
        self._positions = [Position(env.get_state(), observation, info)]

    @property
    def position(self) -> Position:
        """Where the game stands."""
        return self._positions[-1]

    @property
    def positions(self) -> tuple[Position, ...]:
        """All positions from the first on."""
        return tuple(self._positions)

    def play(self, action: int) -> None:
        """Go one action forwards.

        Raises:
            ValueError: If it is none of the game's actions.
            ResetNeeded: After the end.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        total = self.position.total + float(reward)
        state = self.env.get_state()
        self._positions.append(Position(state, observation, info, total, terminated, truncated))
        self.actions.append(action)

    def take_back(self) -> None:
        """Go one action backwards, if there is one."""
        if self.actions:
            self.actions.pop()
            self._positions.pop()
            self.env.set_state(self.position.state)


def ids() -> list[str]:
    """Return the ids of this package's games."""
    return [name for name, spec in gym.registry.items() if _module(spec).startswith("tile_envs.")]


def make(env_id: str, options: Mapping[str, Any]) -> GameEnv[Any]:
    """Make one of this package's games, without wrappers: they could not be taken back.

    Raises:
        ValueError: If there is no such game, or it does not take the options.
    """
    if env_id not in ids():
        raise ValueError(f"unknown environment {brief(env_id)}: expected {_listed(ids())}.")
    parameters = inspect.signature(load_env_creator(_module(gym.spec(env_id)))).parameters
    known = [name for name in parameters if name != "render_mode"]
    for name in options:
        if name not in known:
            raise ValueError(f"unknown option {name!r} of {env_id}: expected {_listed(known)}.")
    env = gym.make(env_id, disable_env_checker=True, **options).unwrapped
    assert isinstance(env, GameEnv)
    return env


def _module(spec: gym.envs.registration.EnvSpec) -> str:
    """Return the `module:class` of an environment, if it is registered with one."""
    return spec.entry_point if isinstance(spec.entry_point, str) else ""


def _listed(words: list[str]) -> str:
    return ", ".join(map(repr, words))
