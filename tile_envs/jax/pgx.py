"""The games with states as pgx has them, for mctx, Stoix and whatever else takes these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tile_envs.jax import JaxEnv, make
from tile_envs.tictactoe.positions import X


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """A game; with side "both", for the players 0, X, and 1, O."""

    game: Any  # the state in `tile_envs.jax`
    current_player: Any  # `int32`
    legal_action_mask: Any  # `(num_actions,) bool`, all of them when the game has ended
    observation: Any  # the board, as the player to move sees it
    rewards: Any  # `(num_players,) float32`, those of the last step
    terminated: Any  # `bool`, whether the game has ended
    truncated: Any  # `bool`, whether there were too many illegal actions in a row
    _step_count: Any

    def replace(self, **changes: Any) -> State:
        return replace(self, **changes)


class PgxEnv:
    """A game, with the attributes and methods of pgx's; the key of `init` is its seed."""

    def __init__(self, env: JaxEnv) -> None:
        self.env = env
        self.num_players = 2 if getattr(env.game, "side", "") == "both" else 1
        self.num_actions, self.observation_shape = env.game.n_actions, env.game.shape

    def init(self, key: Any) -> State:
        game = self.env.begin(self.env.seed_of(key))
        no, zero = game.over, game.illegal_run  # of a game that begins, False and 0
        rewards = jnp.broadcast_to(zero.astype(jnp.float32), self.num_players)
        return self._state(game, self.env.observation(game), rewards, no, no, zero)

    def step(self, state: State, action: Any, key: Any = None) -> State:
        """Play an action; the key has no effect, as a game has a random stream of its own."""
        game, step = self.env.step(state.game, action)
        signs = 1 - 2 * (np.arange(self.num_players) != state.current_player)
        shown = step.observation, step.reward * signs, step.terminated, step.truncated
        return self._state(game, *shown, state._step_count + 1)

    def observe(self, state: State, player_id: Any = None) -> Any:
        """Return the board, as the player to move or another one sees it."""
        if player_id is None or self.num_players == 1:
            return state.observation
        return state.observation * jnp.int8(1 - 2 * (state.current_player != player_id))

    def _state(self, game: Any, *others: Any) -> State:
        is_o = game.mark != X if self.num_players == 2 else game.over & False
        return State(game, is_o.astype(jnp.int32), self.env.mask(game) | game.over, *others)


def pgx_env(env_id: str, **options: Any) -> PgxEnv:
    """Return a game with states as pgx has them; see `tile_envs.jax.make` for the arguments."""
    return PgxEnv(make(env_id, **options))
