"""Tic-tac-toe in JAX: what is known of each position, looked up by its code."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tile_envs.jax import words
from tile_envs.jax.base import Afterstate, JaxEnv, Step, check_one, index_of, jit_method, look_up
from tile_envs.jax.words import Word
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELLS, DIGITS, PLAYED, POWERS, O, X, solve


class State(NamedTuple):
    """A game, `tile_envs.tictactoe.State` of one; its legal cells; illegal actions in a row."""

    stream: Word
    over: Any
    legal: Any
    code: Any
    mark: Any
    illegal_run: Any


class JaxTicTacToe(JaxEnv):
    """Tic-tac-toe; chance indices are the cells of the opponent's reply, if there are replies."""

    game: TicTacToe

    @property
    def n_chances(self) -> int:
        return 1 if self.game.side == "both" else CELLS

    @jit_method
    def _begin(self, seed: Word, board: Any, **position: Any) -> State:
        stream, no = words.mix(seed), seed.low < 0
        marks = jnp.asarray(np.zeros(self.game.shape) if board is None else board, jnp.int32)
        code = (marks.reshape(-1) % 3 * POWERS.astype(np.int32)).sum(dtype=jnp.int32) + no
        mark = to_move = _known("to_move", code)
        if self.game.side == "random":
            stream, word = words.draw(stream)
            mark = X + (O - X) * (word.high >> 31).astype(jnp.int32)
        elif self.game.side != "both":
            mark = jnp.full_like(mark, *PLAYED[self.game.side])
        state = State(stream, no, _known("legal", code), code, mark, jnp.zeros_like(code))
        return self._reply(state, (mark != to_move) & (state.legal > 0))

    def _mark(self, state: State, cell: Any, is_played: Any) -> State:
        """Return a state after whoever is to move has marked a cell, where it is played."""
        child = _known("children", state.code * CELLS + cell)
        code = jnp.where(is_played, child, state.code)
        return state._replace(code=code, legal=_known("legal", code))

    def _reward(self, state: State, legal: Any) -> Any:
        return jnp.where(legal, _known("winner", state.code) * state.mark, 0)

    @jit_method
    def afterstate(self, state: State, action: Any) -> Afterstate:
        action, legal, state = self._count(state, action)
        state = self._mark(state, action, legal)
        return Afterstate(state, legal, self._reward(state, legal))

    def _is_reply_due(self, afterstate: Afterstate) -> Any:
        return afterstate.legal & (afterstate.state.legal > 0) & (self.game.side != "both")

    def _replies(self, state: State) -> Any:
        """Return the set of cells of which the opponent plays one."""
        return look_up(self.game.policies.cells.astype(np.int32), state.code)

    def _reply(self, state: State, is_due: Any) -> State:
        stream, word = words.draw(state.stream, is_due)
        cell = self._pick(self._replies(state), word.high)
        return self._mark(state._replace(stream=stream), cell, is_due)

    def _draw(self, afterstate: Afterstate, stream: Word) -> tuple[State, Step]:
        state = afterstate.state._replace(stream=stream)
        return self._arrive(self._reply(state, self._is_reply_due(afterstate)), afterstate.legal)

    @jit_method
    def spawn(self, afterstate: Afterstate, index: Any) -> tuple[State, Step]:
        cell = index_of(index, self.n_chances, "index")
        is_played = self._is_reply_due(afterstate) & (cell >= 0)
        return self._arrive(self._mark(afterstate.state, cell, is_played), afterstate.legal)

    def _arrive(self, state: State, legal: Any) -> tuple[State, Step]:
        reward, passes = self._reward(state, legal), legal & (self.game.side == "both")
        state = state._replace(mark=jnp.where(passes, -state.mark, state.mark))
        return self._finish(state, legal, reward)

    def probabilities(self, afterstate: Afterstate) -> Any:
        cells = self._replies(afterstate.state)
        indices = jnp.arange(self.n_chances, dtype=jnp.int32)
        shares = (cells >> indices & 1).astype(jnp.float32) / jnp.bitwise_count(cells)
        return jnp.where(self._is_reply_due(afterstate), shares, indices == 0)

    @jit_method
    def observe(self, state: State) -> tuple[Any, dict[str, Any]]:
        check_one(state)
        digits = state.code // POWERS.astype(np.int32) % 3
        marks = (digits - 3 * (digits == DIGITS[O])) * state.mark
        observation = marks.astype(jnp.int8).reshape(self.game.shape)
        winner, mask = _known("winner", state.code), self.mask(state).astype(jnp.int8)
        return observation, {"action_mask": mask, "to_play": state.mark, "winner": winner}


def _known(name: str, index: Any) -> Any:
    """Return what is known of a position, `int32`, by its code; a child by `code * 9 + cell`."""
    return look_up(getattr(solve(), name).reshape(-1).astype(np.int32), index)
