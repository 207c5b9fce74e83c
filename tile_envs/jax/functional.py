"""The games as functional environments of Gymnasium (`gymnasium.experimental.functional`)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from gymnasium import spaces
from gymnasium.experimental.functional import FuncEnv

from tile_envs.jax import JaxEnv, make


class State(NamedTuple):
    """A game, and the reward of its last step."""

    game: Any
    reward: Any


class _Env(FuncEnv[State, Any, Any, Any, Any, Any, Any]):
    def __init__(self, env: JaxEnv) -> None:
        super().__init__()
        self.env, self.observation_space = env, env.game.observation_space
        self.action_space = spaces.Discrete(env.game.n_actions)

    def initial(self, rng: Any, params: Any = None) -> State:
        game = self.env.begin(self.env.seed_of(rng))
        return State(game, game.illegal_run.astype(jnp.float32))  # 0, as the game begins

    def transition(self, state: State, action: Any, rng: Any, params: Any = None) -> State:
        game, step = self.env.step(state.game, action)
        return State(game, step.reward)

    def observation(self, state: State, rng: Any, params: Any = None) -> Any:
        return self.env.observation(state.game)

    def reward(self, state: Any, action: Any, next_state: Any, rng: Any, params: Any = None) -> Any:
        return next_state.reward

    def terminal(self, state: State, rng: Any, params: Any = None) -> Any:
        return state.game.over

    def state_info(self, state: State, params: Any = None) -> Any:
        _, info = self.env.observe(state.game)
        return info | {"illegal": state.game.illegal_run > 0}

    def transition_info(self, state: Any, action: Any, next_state: Any, params: Any = None) -> Any:
        return self.state_info(next_state)


def func_env(env_id: str, **options: Any) -> FuncEnv[State, Any, Any, Any, Any, Any, Any]:
    """Return a game as a `FuncEnv`; see `tile_envs.jax.make` for the arguments.

    The key of `initial` is the seed of the game; other keys have no effect.  `terminal` tells of
    truncations, too, since there is nothing else that could.
    """
    return _Env(make(env_id, **options))
