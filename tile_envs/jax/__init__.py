"""The games once more as pure functions, for accelerators: equal to those in numpy, bit for bit.

    from tile_envs.jax import make

    env = make("Tiles2048-v0", shape=(5, 5))  # options as of gym.make
    state = env.begin(7)  # the game that reset(seed=7) begins
    state, step = env.step(state, 0)  # step.observation, reward, terminated, truncated, info

These are functions of one game; `jax.jit`, `jax.vmap` and `jax.lax.scan` make many of them.  The
extra `jax` installs JAX alone; `gymnax_env` and `pgx_env` are the same games for other
libraries, which are imported when they are asked for.
"""

from importlib import import_module
from typing import Any

from tile_envs import games
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError, extra
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.placer import RANDOM

with extra("jax"):
    from tile_envs.jax.base import JaxEnv, Step
    from tile_envs.jax.sliding import JaxSliding
    from tile_envs.jax.tictactoe import JaxTicTacToe
    from tile_envs.jax.words import Word, halves

_SHELLS = {"gymnax_env": "gymnax", "pgx_env": "pgx"}
__all__ = ["JaxEnv", "Step", "Word", "halves", "make", *_SHELLS]


def __getattr__(name: str) -> Any:
    if name == "func_env":
        raise ImportError("func_env was retired: use begin and step of tile_envs.jax.make(id).")
    if name not in _SHELLS:
        raise AttributeError(f"module 'tile_envs.jax' has no attribute {name!r}")
    return getattr(import_module(f"tile_envs.jax.{_SHELLS[name]}"), name)


def make(env_id: str, **options: Any) -> JaxEnv:
    """Return the functions of a game, by its id and the options that `gym.make` takes.

    Raises:
        ValueError: If there is no such game, or it does not take the options; or if it is not
            played in JAX: tiles that are not placed at random, `starts`, and opponents that are not
            one name.
    """
    if unused := sorted({*options} & {*games.OF_MANY}):
        raise UsageError(
            f"games in JAX have no {', '.join(unused)}: count steps in a loop of your own, or by "
            "gymnax's max_steps_in_episode."
        )
    env = games.make(games.resolve_id(env_id), options)
    game, most = env.game, min(env.max_illegal, (1 << 31) - 1)  # as many as fit
    if not isinstance(game, SlidingGame):
        if game.policy is None:
            raise UsageError(
                f"opponents in JAX have a name, got {brief(game.opponent)}: let it move as the "
                "other player, with side='both', or use gym.make_vec."
            )
        return JaxTicTacToe(game, most)
    if game.placer != RANDOM or game.starts is not None:
        raise UsageError(
            f"tiles are placed at random in JAX, and games start as usual, got {brief(options)}: "
            "begin with env.begin(seed, board), place by env.spawn, or use gym.make_vec."
        )
    return JaxSliding(game, most)
