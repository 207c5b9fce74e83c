"""Tic-tac-toe in JAX: what is known of each position, looked up by its code."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tile_envs.base.sets import KTH
from tile_envs.jax import words
from tile_envs.jax.base import Afterstate, JaxEnv, Step, check_one, index_of, jit_method, look_up
from tile_envs.jax.words import Word
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELLS, DIGITS, PLAYED, POWERS, O, X, solve

ALL = (1 << CELLS) - 1
"""The set of all cells."""


class State(NamedTuple):
    """A game, `tile_envs.tictactoe.State` of one; and how many illegal actions in a row."""

    stream: Word
    over: Any
    code: Any
    known: Any  # what is known of the position, as bits
    mark: Any
    illegal_run: Any

    @property
    def legal(self) -> Any:
        return self.known & ALL

    @property
    def replies(self) -> Any:
        """The set of cells of which the opponent plays one."""
        return self.known >> CELLS & ALL

    @property
    def winner(self) -> Any:
        return (self.known >> 2 * CELLS) - 1


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
        mark = to_move = jnp.where(marks.sum(dtype=jnp.int32) + no, jnp.int32(O), jnp.int32(X))
        if self.game.side == "random":
            stream, word = words.draw(stream)
            mark = X + (O - X) * (word.high >> 31).astype(jnp.int32)
        elif self.game.side != "both":
            mark = jnp.int32(*PLAYED[self.game.side]) + no
        state = self._at(State(stream, no, code, code, mark, jnp.zeros_like(code)), code)
        return self._reply(state, (mark != to_move) & (state.legal > 0))

    def _at(self, state: State, code: Any) -> State:
        """Return a state at another position, of which all is known by one lookup."""
        tables = solve()
        bits = tables.legal | self.game.policies.cells << CELLS | tables.winner + 1 << 2 * CELLS
        return state._replace(code=code, known=look_up(bits.astype(np.int32), code))

    def _mark(self, state: State, cell: Any, mark: Any, is_played: Any) -> State:
        """Return a state with a mark on a free cell, where it is played."""
        digit = DIGITS[O] + (DIGITS[X] - DIGITS[O]) * (mark == X)
        played = look_up(POWERS.astype(np.int32), cell) * digit * is_played
        return self._at(state, state.code + played)

    @jit_method
    def afterstate(self, state: State, action: Any) -> Afterstate:
        action, legal, state = self._count(state, action)
        state = self._mark(state, action, state.mark, legal)
        return Afterstate(state, legal, jnp.where(legal, state.winner * state.mark, 0))

    def _is_reply_due(self, afterstate: Afterstate) -> Any:
        return afterstate.legal & (afterstate.state.legal > 0) & (self.game.side != "both")

    def _reply(self, state: State, is_due: Any) -> State:
        stream, word = words.draw(state.stream, is_due)
        size = jnp.bitwise_count(state.replies).astype(jnp.uint32)
        k = words.choose(word.high, size).astype(jnp.int32)
        cell = look_up(KTH.astype(np.int32), state.replies * CELLS + k)
        return self._mark(state._replace(stream=stream), cell, -state.mark, is_due)

    def _draw(self, afterstate: Afterstate, stream: Word) -> tuple[State, Step]:
        state = afterstate.state._replace(stream=stream)
        return self._arrive(self._reply(state, self._is_reply_due(afterstate)), afterstate.legal)

    @jit_method
    def spawn(self, afterstate: Afterstate, index: Any) -> tuple[State, Step]:
        state, cell = afterstate.state, index_of(index, self.n_chances, "index")
        is_played = self._is_reply_due(afterstate) & (state.legal >> cell & 1 > 0)
        return self._arrive(self._mark(state, cell, -state.mark, is_played), afterstate.legal)

    def _arrive(self, state: State, legal: Any) -> tuple[State, Step]:
        reward, passes = state.winner * state.mark * legal, legal & (self.game.side == "both")
        state = state._replace(mark=jnp.where(passes, -state.mark, state.mark))
        return self._finish(state, legal, reward)

    def probabilities(self, afterstate: Afterstate) -> Any:
        cells, indices = afterstate.state.replies, jnp.arange(self.n_chances, dtype=jnp.int32)
        n = jnp.maximum(jnp.bitwise_count(cells), 1)
        shares = (cells >> indices & 1).astype(jnp.float32) / n
        return jnp.where(self._is_reply_due(afterstate), shares, indices == 0)

    @jit_method
    def observe(self, state: State) -> tuple[Any, dict[str, Any]]:
        check_one(state)
        digits = state.code // POWERS.astype(np.int32) % 3
        marks = (digits - 3 * (digits == DIGITS[O])) * state.mark
        info = {"action_mask": self.mask(state).astype(jnp.int8)}
        info |= {"to_play": state.mark, "winner": state.winner}
        return marks.astype(jnp.int8).reshape(self.game.shape), info
