"""A playthrough: an environment and all the positions it has been in, so that it can go back."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium.envs.registration import find_highest_version, load_env_creator, parse_env_id
from numpy.typing import NDArray

from tile_envs.base.checks import brief
from tile_envs.base.env import GameEnv, Info
from tile_envs.errors import UsageError
from tile_envs.modules import import_named


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


class Playthrough:
    """A game that is played forwards and backwards.

    Attributes:
        env: The environment.  It stands where the game does.
        seed: What the environment was reset with.
        reset: The options that it was reset with.
        actions: What has been played since.
    """

    def __init__(
        self, env: GameEnv[Any, Any], seed: int, reset: Mapping[str, Any] | None = None
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
    """Return the ids of the games that are registered: this package's, and a user's own rules."""
    return [name for name, spec in gym.registry.items() if _path(spec).startswith("tile_envs.")]


def imported(env_id: str) -> str:
    """Import the module of an id such as `my_module:Powers3-v0`, and return the id alone.

    Only what a person types may be passed: an id in a file names no module.

    Raises:
        ValueError: If there is no such module.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        import_named(module)
    return name if name in gym.registry else _latest(name)


@cache  # said once
def _latest(name: str) -> str:
    """Return the latest version of an id without one, and say so on standard error."""
    try:
        namespace, bare, version = parse_env_id(name)
    except gym.error.Error:
        return name  # whoever looks for it says what is wrong
    latest = find_highest_version(namespace, bare) if version is None else None
    if latest is None:
        return name
    print(f"{name} has no version: taken as {name}-v{latest}.", file=sys.stderr)
    return f"{name}-v{latest}"


def options_of(env_id: str) -> list[str]:
    """Return the names of the options that `gym.make` takes for a game of this package.

    Raises:
        ValueError: If there is no such game.
    """
    if env_id not in ids():
        raise UsageError(
            f"unknown environment {brief(env_id)}: expected {_listed(ids())}, "
            "or one that a module of yours registers, with --import MODULE."
        )
    spec = gym.spec(env_id)
    parameters = inspect.signature(load_env_creator(_path(spec))).parameters
    return [name for name in parameters if name not in ("render_mode", "rules")]


def make(env_id: str, options: Mapping[str, Any]) -> GameEnv[Any, Any]:
    """Make one of the registered games, without wrappers: their moves could not be undone.

    Raises:
        ValueError: If there is no such game, or it does not take the options.
    """
    known = options_of(env_id)
    for name in options:
        if name not in known:
            raise UsageError(f"unknown option {name!r} of {env_id}: expected {_listed(known)}.")
    env = gym.make(env_id, disable_env_checker=True, **options).unwrapped
    assert isinstance(env, GameEnv)
    return env


def given_options(env: GameEnv[Any, Any]) -> dict[str, Any]:
    """Return the options that `gym.make` was given for an environment.

    The rules of a registered game are no option: its id stands for them.
    """
    assert env.spec, "only gymnasium.make gives an environment its id and options"
    kept = env.spec.kwargs.items()
    return {name: value for name, value in kept if name not in ("render_mode", "rules")}


def _path(spec: gym.envs.registration.EnvSpec) -> str:
    """Return the `module:class` of an environment, if it is registered with one."""
    return spec.entry_point if isinstance(spec.entry_point, str) else ""


def _listed(words: list[str]) -> str:
    return ", ".join(map(repr, words))
