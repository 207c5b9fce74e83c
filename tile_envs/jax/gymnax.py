"""The games as environments of gymnax 1.0, under their ids: `gymnax.make("Tiles2048-v0")`."""

from typing import Any

import numpy as np

from tile_envs import games
from tile_envs.errors import ExtraNotInstalled
from tile_envs.jax import JaxEnv, make

try:
    import gymnax
    from flax import struct
    from gymnax.environments import environment, spaces
except ModuleNotFoundError as error:
    message = f"{error.name} is not installed: pip install gymnax six, in an environment of its own"
    raise ExtraNotInstalled(message, name=error.name, path=error.path) from error


@struct.dataclass
class EnvState(environment.EnvState):  # type: ignore[misc]
    """A game, and how many steps it has had."""

    game: Any


class _Env(environment.Environment):  # type: ignore[misc]
    default_params = environment.EnvParams(max_steps_in_episode=np.iinfo(np.int32).max)
    num_actions = property(lambda self: self.env.game.n_actions)

    def __init__(self, env: JaxEnv) -> None:
        self.env = env

    def reset_env(self, key: Any, params: Any) -> tuple[Any, EnvState]:
        game = self.env.begin(self.env.seed_of(key))
        return self.env.observation(game), EnvState(time=game.illegal_run, game=game)  # 0

    def step_env(self, key: Any, state: EnvState, action: Any, params: Any) -> Any:
        game, step = self.env.step(state.game, action)
        after = EnvState(time=state.time + 1, game=game)
        return step.observation, after, step.reward, step.terminated, step.info

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Any:
        return self.env.observation(state.game)

    def action_mask(self, state: EnvState) -> Any:
        return self.env.mask(state.game)

    def is_truncated(self, state: EnvState, params: Any) -> Any:
        too_many = state.game.illegal_run >= self.env.max_illegal
        return too_many | (state.time >= params.max_steps_in_episode)

    def action_space(self, params: Any = None) -> Any:
        return spaces.Discrete(self.num_actions)

    def observation_space(self, params: Any = None) -> Any:
        space = self.env.game.observation_space
        return spaces.Box(space.low.min(), space.high.max(), space.shape, space.dtype)


def gymnax_env(env_id: str, **options: Any) -> tuple[environment.Environment, Any]:
    """Return a game as gymnax has it, and its parameters; see `tile_envs.jax.make`.

    `info` is that of the last position: after `reset`, also an automatic one, ask
    `action_mask(state)` for the legal actions, `(n_actions,) bool`.
    """
    env = _Env(make(env_id, **options))
    return env, env.default_params


for _id in {*games.ids()} - {*gymnax.registered_envs}:
    gymnax.register(_id, lambda _id=_id, **options: gymnax_env(_id, **options)[0])
