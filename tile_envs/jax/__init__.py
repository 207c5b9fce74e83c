"""The games once more as pure functions of one game: equal to those in numpy, bit for bit.

`jax.jit`, `jax.vmap` and `jax.lax.scan` make many of them, on accelerators, too.  The extra `jax`
installs JAX alone; `gymnax_env` and `pgx_env` are the same games for other libraries, which are
imported when they are asked for.
"""

from importlib import import_module
from typing import Any

from tile_envs import games
from tile_envs.base.checks import brief
from tile_envs.base.env import VECTOR_OPTIONS
from tile_envs.errors import UsageError, extra
from tile_envs.sliding.chance import RANDOM
from tile_envs.sliding.game import SlidingGame

with extra("jax"):
    from tile_envs.jax.base import JaxEnv, Step
    from tile_envs.jax.sliding import JaxSliding
    from tile_envs.jax.tictactoe import JaxTicTacToe
    from tile_envs.jax.words import Word, halves

_SHELLS = {"gymnax_env": "gymnax", "pgx_env": "pgx"}
__all__ = ["JaxEnv", "Step", "Word", "halves", "make", *_SHELLS]


def __getattr__(name: str) -> Any:
    if name not in _SHELLS:
        raise AttributeError(f"module 'tile_envs.jax' has no attribute {name!r}")
    return getattr(import_module(f"tile_envs.jax.{_SHELLS[name]}"), name)


def make(env_id: str, **options: Any) -> JaxEnv:
    """Return the functions of a game, by its id and the options that `gym.make` takes.

    Raises:
        ValueError: If there is no such game, or it does not take the options; or if it is not
            played in JAX: with a `placer`, `starts`, or an opponent that is not one name.
    """
    for name in VECTOR_OPTIONS:
        if name in options:
            wanted = "count steps in a loop of your own, or by gymnax's max_steps_in_episode"
            raise UsageError(f"games in JAX have no {name}: {wanted}.")
    env = games.make(games.resolve_id(env_id), options)
    game, most = env.game, min(env.max_illegal, (1 << 31) - 1)  # as many as fit
    if isinstance(game, SlidingGame):
        if game.placer == RANDOM and game.starts is None:
            return JaxSliding(game, most)
    elif isinstance(game.opponent, str):
        return JaxTicTacToe(game, most)
    raise UsageError(
        "in JAX tiles are placed at random, games start as usual, and opponents have one name, got "
        f"{brief(options)}: use begin(seed, board), spawn, side='both', or gym.make_vec."
    )
