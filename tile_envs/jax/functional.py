"""The games as functional environments of Gymnasium (`gymnasium.experimental.functional`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from gymnasium import spaces
from gymnasium.experimental.functional import FuncEnv

from tile_envs.jax import make
from tile_envs.jax.base import JaxEnv


class State(NamedTuple):
    """A game, and the reward of its last step."""

    game: Any
    reward: Any


class GameFuncEnv(FuncEnv[State, Any, Any, Any, Any, Any, Any]):
    """A game; the key of `initial` is its seed, and other keys have no effect.

    `terminal` tells of truncations, too, since there is nothing else that could.
    """

    def __init__(self, env: JaxEnv[Any]) -> None:
        super().__init__()
        self.env = env
        self.observation_space = env.game.observation_space
        self.action_space = spaces.Discrete(env.game.n_actions)

    def initial(self, rng: Any, params: Any = None) -> State:
        """Return the state of the game of a key."""
        game = self.env.begin(self.env.seed_of(rng))
        return State(game, 0.0 * game.illegal_run)

    def transition(self, state: State, action: Any, rng: Any, params: Any = None) -> State:
        """Return the state after an action."""
        game, step = self.env.step(state.game, action)
        return State(game, step.reward)

    def observation(self, state: State, rng: Any, params: Any = None) -> Any:
        """Return the board."""
        return self.env.observation(state.game)

    def reward(
        self, state: State, action: Any, next_state: State, rng: Any, params: Any = None
    ) -> Any:
        """Return the reward of a transition."""
        return next_state.reward

    def terminal(self, state: State, rng: Any, params: Any = None) -> Any:
        """Return whether the game has ended."""
        return state.game.over

    def state_info(self, state: State, params: Any = None) -> dict[str, Any]:
        """Return the infos of a state; `illegal` is that of the last action."""
        _, info = self.env.observe(state.game)
        return info | {"illegal": state.game.illegal_run > 0}

    def transition_info(
        self, state: State, action: Any, next_state: State, params: Any = None
    ) -> dict[str, Any]:
        """Return the infos of the state after an action."""
        return self.state_info(next_state)


def func_env(env_id: str, **options: Any) -> GameFuncEnv:
    """Return a game as a `FuncEnv`; the arguments are those of `tile_envs.jax.make`."""
    return GameFuncEnv(make(env_id, **options))
