"""Tic-tac-toe in JAX: what is known of each position, looked up by its code."""

from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tile_envs.base.sets import KTH
from tile_envs.jax import words
from tile_envs.jax.base import Afterstate, JaxEnv, Step, check_one, compiled, index_of, look_up
from tile_envs.jax.words import Word
from tile_envs.tictactoe import game
from tile_envs.tictactoe.positions import CELLS, DIGITS, PLAYED, POWERS, O, X, solve


class State(NamedTuple):
    """A game, `tile_envs.tictactoe.State` of one; and how many illegal actions in a row."""

    stream: Word
    over: Any
    code: Any
    mark: Any
    illegal_run: Any


class Known(NamedTuple):
    """What is known of a position, `int32` but `over`; see `tile_envs.tictactoe.positions`.

    `replies` is the set of cells of which the opponent plays one.
    """

    legal: Any
    replies: Any
    over: Any
    winner: Any
    to_move: Any


class TicTacToe(JaxEnv):
    """Tic-tac-toe; chance indices are the cells of the opponent's reply, if there are replies."""

    game: game.TicTacToe

    @property
    def n_chances(self) -> int:
        """The cells; with side "both", nothing is drawn."""
        return 1 if self.game.side == "both" else CELLS

    @cached_property
    def _table(self) -> Any:
        """What is known of each position, as bits: one lookup for all."""
        tables = solve()
        signs = tables.over | tables.winner + 1 << 1 | tables.to_move + 1 << 3
        bits = tables.legal | self.game.policies.cells << CELLS | signs << 2 * CELLS
        return bits.astype(np.int32)

    def _known(self, code: Any) -> Known:
        bits = look_up(self._table, code)
        cells, signs = (1 << CELLS) - 1, bits >> 2 * CELLS
        winner, to_move = (signs >> 1 & 3) - 1, (signs >> 3) - 1
        return Known(bits & cells, bits >> CELLS & cells, signs & 1 > 0, winner, to_move)

    @compiled
    def _begin(self, seed: Word, board: Any, **position: Any) -> State:
        stream, no = words.mix(seed), seed.low < 0
        marks = jnp.asarray(np.zeros(self.game.shape) if board is None else board, jnp.int32)
        code = (marks.reshape(-1) % 3 * jnp.asarray(POWERS, jnp.int32)).sum(dtype=jnp.int32) + no
        known = self._known(code)
        mark = known.to_move
        if self.game.side == "random":
            stream = words.advanced(stream)
            mark = X + (O - X) * (words.mix(stream).high >> 31).astype(jnp.int32)
        elif self.game.side != "both":
            mark = jnp.full_like(mark, *PLAYED[self.game.side])
        state = State(stream, no, code, mark, jnp.zeros_like(code))
        return self._replied(state, (mark != known.to_move) & ~known.over)

    def _act(self, state: State, action: Any) -> Afterstate:
        action, legal, state = self._checked(state, action)
        code = _marked(state.code, action, state.mark, legal)
        reward = jnp.where(legal, self._known(code).winner * state.mark, 0)
        return Afterstate(state._replace(code=code), legal, reward)

    def _asked(self, afterstate: Afterstate) -> Any:
        is_over = self._known(afterstate.state.code).over
        return afterstate.legal & ~is_over & (self.game.side != "both")

    def _draw(self, afterstate: Afterstate, stream: Word) -> tuple[State, Step]:
        state = afterstate.state._replace(stream=stream)
        return self._arrived(afterstate.legal, self._replied(state, self._asked(afterstate)))

    @compiled
    def spawn(self, afterstate: Afterstate, index: Any) -> tuple[State, Step]:
        state, cell = afterstate.state, index_of(index, self.n_chances, "index")
        is_free = self._known(state.code).legal >> cell & 1 > 0
        code = _marked(state.code, cell, -state.mark, self._asked(afterstate) & is_free)
        return self._arrived(afterstate.legal, state._replace(code=code))

    def _replied(self, state: State, asked: Any) -> State:
        """Return a state after the opponent's reply, where it is asked."""
        stream, cells = words.advanced(state.stream, asked), self._known(state.code).replies
        size = jnp.bitwise_count(cells).astype(jnp.uint32)
        k = words.choose(words.mix(stream).high, size).astype(jnp.int32)
        cell = look_up(KTH.astype(np.int32), cells * CELLS + k)
        return state._replace(stream=stream, code=_marked(state.code, cell, -state.mark, asked))

    def _arrived(self, legal: Any, state: State) -> tuple[State, Step]:
        known, passes = self._known(state.code), legal & (self.game.side == "both")
        reward = jnp.where(legal, known.winner * state.mark, 0)
        state = state._replace(mark=jnp.where(passes, -state.mark, state.mark))
        return self._stepped(state, known.over, legal, reward)

    def probabilities(self, afterstate: Afterstate) -> Any:
        cells = self._known(afterstate.state.code).replies
        indices = jnp.arange(self.n_chances, dtype=jnp.int32)
        shares = (cells >> indices & 1).astype(jnp.float32) / jnp.bitwise_count(cells)
        return jnp.where(self._asked(afterstate), shares, indices == 0)

    def legal(self, state: State) -> Any:
        return self._known(state.code).legal

    def observation(self, state: State) -> Any:
        check_one(state)
        digits = state.code // jnp.asarray(POWERS, jnp.int32) % 3
        marks = (digits - 3 * (digits == DIGITS[O])) * state.mark
        return marks.astype(jnp.int8).reshape(self.game.shape)

    def _infos(self, state: State, observation: Any) -> dict[str, Any]:
        return {"to_play": state.mark, "winner": self._known(state.code).winner}


def _marked(code: Any, cell: Any, mark: Any, played: Any) -> Any:
    """Return the code of a position with a mark on a free cell, where it is played."""
    digit = DIGITS[O] + (DIGITS[X] - DIGITS[O]) * (mark == X)
    return code + look_up(POWERS.astype(np.int32), cell) * digit * played
