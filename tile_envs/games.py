"""The registered games by their ids, and any game as a vector environment."""

import importlib
import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeAlias

import gymnasium as gym
from gymnasium.envs.registration import find_highest_version, load_env_creator

import tile_envs.sliding
import tile_envs.tictactoe  # noqa: F401 # their games are found as subclasses
from tile_envs.base.checks import brief, checked_choice, checked_count, checked_mapping, listed
from tile_envs.base.engine import AUTO, NUMBA, NUMPY
from tile_envs.base.env import VECTOR_OPTIONS, GameEnv
from tile_envs.base.vector_env import GameVectorEnv
from tile_envs.errors import UsageError
from tile_envs.game import Game

AnyEnv: TypeAlias = str | gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any]
"""An id, or an environment that stands for its own."""
IMPORTED: list[str] = []  # by `import_named`, in this process


def import_named(module: str) -> None:
    """Import a module that a person has typed; a file may only say which modules it needs."""
    if not module or module.startswith("."):
        raise UsageError(f"the module {module!r} is not found: give its whole name.")
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # it is there, and imports another one that is not
        raise UsageError(f"the module {module} is not found: {error}.") from None
    if module not in IMPORTED:
        IMPORTED.append(module)


def ids() -> list[str]:
    """Return the ids of the games that are registered: this package's, and a user's own rules."""
    specs = gym.registry.items()
    return [name for name, spec in specs if str(spec.entry_point).startswith("tile_envs.")]


def resolve_id(env_id: str) -> str:
    """Import the module of an id such as `my_module:Powers3-v0`, and return the id alone.

    Only what a person types may be passed: an id in a file names no module.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        import_named(module)
    namespace, _, bare = name.rpartition("/")
    version = find_highest_version(namespace or None, bare)
    if name in gym.registry or version is None:
        return name  # whoever looks for it says what is wrong
    say(f"{name} has no version: taken as {name}-v{version}.")
    return f"{name}-v{version}"


@cache
def say(line: str) -> None:
    """Print a line on standard error, once."""
    print(line, file=sys.stderr)


def named(env: Any, options: Mapping[str, Any] | None) -> tuple[Any, Any]:
    """Return the id and options of an environment, with those given; an id, or None, stays."""
    given = None if options is None else checked_mapping(options, "env_kwargs")
    if isinstance(env, str | None):
        return env, given
    spec = getattr(env, "spec", None)
    if not spec or spec.additional_wrappers or isinstance(env, gym.vector.VectorWrapper):
        wanted = "an id, such as 'Tiles2048-v0', or an environment from gym.make without wrappers"
        raise UsageError(f"env must be {wanted}, got {brief(env)}.")
    kwargs = {"max_episode_steps": spec.max_episode_steps} | spec.kwargs
    taken = (*options_of(spec.id), "max_episode_steps")
    made = {name: v for name, v in kwargs.items() if name in taken and v is not None}
    return spec.id, made | (given or {})


def options_of(env_id: str) -> list[str]:
    """Return the names of the options of a registered game, without its rules."""
    if env_id not in ids():
        wanted = f"{listed(ids())}, or one that a module of yours registers, with --import MODULE"
        raise UsageError(f"unknown environment {brief(env_id)}: expected {wanted}.")
    kind: Any = load_env_creator(str(gym.spec(env_id).entry_point))
    return [f.name for f in fields(kind.game_type) if f.name != "rules"] + ["max_illegal"]


def make(env_id: str, options: Mapping[str, Any]) -> GameEnv[Any, Any]:
    """Make a registered game without wrappers, whose moves could not be undone.

    It keeps the time limit that a wrapper would have, and needs no engine.
    """
    allowed = [*options_of(env_id), *VECTOR_OPTIONS]
    for name in options:
        if name == "rules":
            raise UsageError("rules are no option: give them an id by register_game(id, rules).")
        if name not in allowed:
            raise UsageError(f"unknown option {name!r} of {env_id}: expected {listed(allowed)}.")
    checked_choice(options.get("engine", NUMPY), "engine", (NUMPY, NUMBA, AUTO))
    own = {name: value for name, value in options.items() if name not in VECTOR_OPTIONS}
    env = gym.make(env_id, disable_env_checker=True, **own).unwrapped
    assert isinstance(env, GameEnv)
    if (limit := options.get("max_episode_steps")) is not None:
        env.max_episode_steps = checked_count(limit, "max_episode_steps")
    return env


def vector_env(game: Game, num_envs: int, **options: Any) -> GameVectorEnv[Any]:
    """Return a native vector environment of a game; see `GameVectorEnv` for the options."""
    return GameVectorEnv(num_envs, game=game, **options)
