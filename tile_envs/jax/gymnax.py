"""The games as environments of gymnax 1.0, under their ids: `gymnax.make("Tiles2048-v0")`."""

from __future__ import annotations

from typing import Any

import gymnax
import jax.numpy as jnp
import numpy as np
from flax import struct
from gymnax.environments import environment, spaces

from tile_envs import games
from tile_envs.jax import make
from tile_envs.jax.base import JaxEnv


@struct.dataclass
class EnvState(environment.EnvState):  # type: ignore[misc]
    """A game, and how many steps it has had."""

    game: Any


class GameEnvironment(environment.Environment):  # type: ignore[misc]
    """A game; keys are the seeds of new games, and decide nothing else.

    `info` is that of the last position.  After an automatic reset the legal actions are those of
    the new game: ask `action_mask(state)`.
    """

    def __init__(self, env: JaxEnv[Any]) -> None:
        self.env = env

    @property
    def default_params(self) -> Any:
        """Parameters without a limit of steps, `max_steps_in_episode`."""
        return environment.EnvParams(max_steps_in_episode=np.iinfo(np.int32).max)

    def reset_env(self, key: Any, params: Any) -> tuple[Any, EnvState]:
        """Begin the game of a key."""
        game = self.env.begin(self.env.seed_of(key))
        return self.env.observation(game), EnvState(time=jnp.int32(0), game=game)

    def step_env(self, key: Any, state: EnvState, action: Any, params: Any) -> Any:
        """Play an action."""
        game, step = self.env.step(state.game, action)
        after = EnvState(time=state.time + 1, game=game)
        return step.observation, after, step.reward, step.terminated, step.info

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Any:
        """Return the board."""
        return self.env.observation(state.game)

    def action_mask(self, state: EnvState) -> Any:
        """Return the legal actions, `(n_actions,) bool`."""
        return self.env.mask(state.game)

    def is_truncated(self, state: EnvState, params: Any) -> Any:
        """Tell whether there were too many illegal actions in a row, or steps."""
        too_many = state.game.illegal_run >= self.env.max_illegal
        return too_many | (state.time >= params.max_steps_in_episode)

    @property
    def num_actions(self) -> int:
        """The number of actions."""
        return int(self.env.game.n_actions)

    def action_space(self, params: Any = None) -> Any:
        """Return the space of actions."""
        return spaces.Discrete(self.num_actions)

    def observation_space(self, params: Any = None) -> Any:
        """Return the space of boards."""
        space = self.env.game.observation_space
        return spaces.Box(space.low.min(), space.high.max(), space.shape, space.dtype)


def gymnax_env(env_id: str, **options: Any) -> tuple[GameEnvironment, Any]:
    """Return a game as gymnax has it, and its parameters; see `tile_envs.jax.make`."""
    env = GameEnvironment(make(env_id, **options))
    return env, env.default_params


for _id in {*games.ids()} - {*gymnax.registered_envs}:
    gymnax.register(_id, lambda _id=_id, **options: gymnax_env(_id, **options)[0])
