"""The sliding games as registered environments: the two of this package, and a user's own."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

from tile_envs.errors import UsageError
from tile_envs.sliding import manual
from tile_envs.sliding.env import SlidingEnv
from tile_envs.sliding.rules import RULES_2048, RULES_2584, Rules
from tile_envs.sliding.vector import SlidingVectorEnv


def register_game(env_id: str, rules: Rules) -> None:
    """Register a sliding game, for `gym.make`, `gym.make_vec` and every command.

        from tile_envs.sliding import Rules, register_game

        rules = Rules(
            name="Powers3",
            faces=(0, *(3**t for t in range(1, 18))),
            merges=[(t, t, t + 1) for t in range(1, 17)],
            spawn={3: 0.9, 9: 0.1},
            goal=2187,
        )
        register_game("Powers3-v0", rules)

    The id takes the options of the other sliding games (see `SlidingEnv`).  A command imports the
    module that registers a game where it is named with it: `--env my_module:Powers3-v0`.

    Args:
        env_id: The environment's id, with its version.
        rules: The rules.

    Raises:
        ValueError: If `rules` are none, or another game has this id.
    """
    rules = Rules.of(rules)
    registered = registry.get(env_id)
    if registered is not None:
        if registered.kwargs.get("rules") == rules:
            return
        raise UsageError(f"{env_id} is registered already, with other rules: choose another id.")
    register(
        id=env_id,
        entry_point="tile_envs.sliding:SlidingEnv",
        vector_entry_point="tile_envs.sliding:SlidingVectorEnv",
        kwargs={"rules": rules},
    )


class Tiles2048Env(SlidingEnv):
    """The game 2048."""

    usual_rules = RULES_2048


class Tiles2584Env(SlidingEnv):
    """The game 2584, 2048 with Fibonacci numbers."""

    usual_rules = RULES_2584


class Tiles2048VectorEnv(SlidingVectorEnv):
    """Many games of 2048 at once; see `SlidingVectorEnv` and `Tiles2048Env`."""

    usual_rules = RULES_2048


class Tiles2584VectorEnv(SlidingVectorEnv):
    """Many games of 2584 at once; see `SlidingVectorEnv` and `Tiles2584Env`."""

    usual_rules = RULES_2584


SlidingEnv.__doc__ = manual.FAMILY
Tiles2048Env.__doc__ = manual.TILES_2048
Tiles2584Env.__doc__ = manual.TILES_2584
