"""Tic-tac-toe in JAX: what is known of each position, looked up by its code."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from tile_envs.jax import words
from tile_envs.jax.base import Afterstate, JaxEnv, Step, compiled
from tile_envs.jax.words import Word
from tile_envs.tictactoe.game import TicTacToe as Game
from tile_envs.tictactoe.positions import CELLS, DIGITS, KTH_CELL, PLAYED, POWERS, O, X, solve

LEGAL = (1 << CELLS) - 1
REPLIES, OVER, WINNER, MOVER = CELLS, 2 * CELLS, 2 * CELLS + 1, 2 * CELLS + 3
"""What is known of a position, from these bits on: legal cells from 0, the cells of which the
opponent plays one, whether it is over, the winner and the one to move, plus 1."""


class State(NamedTuple):
    """A game; see `tile_envs.tictactoe.State`.

    Attributes:
        stream: The position of the random stream.
        over: `bool`, whether the game has ended.
        code: `int32`, the position.
        mark: `int32`, the mark that is played, 1 X, -1 O.
        illegal_run: `int32`, the illegal actions in a row.
    """

    stream: Word
    over: Any
    code: Any
    mark: Any
    illegal_run: Any


class TicTacToe(JaxEnv[Game]):
    """Tic-tac-toe; chance indices are the cells of the opponent's reply, if there are replies."""

    @property
    def n_chances(self) -> int:
        """The cells; with side "both", nothing is drawn."""
        return 1 if self.game.side == "both" else CELLS

    @cached_property
    def _table(self) -> Any:
        """What is known of each position, as bits."""
        tables, policy = solve(), np.asarray(self.game.policy)
        known = tables.legal | policy << REPLIES | tables.over.astype(np.int64) << OVER
        known |= tables.winner + 1 << WINNER | tables.to_move + 1 << MOVER
        return known.astype(np.int32)

    def _known(self, code: Any) -> Any:
        return jnp.asarray(self._table)[code]

    @compiled
    def _begin(self, seed: Word, board: Any, **position: Any) -> State:
        stream, no = words.mix(seed), seed.low < 0
        marks = jnp.asarray(np.zeros(self.game.shape) if board is None else board, jnp.int32)
        code = (marks.reshape(-1) % 3 * jnp.asarray(POWERS, jnp.int32)).sum() + no
        known = self._known(code)
        mark = mover = (known >> MOVER & 3) - 1
        if self.game.side == "random":
            stream = words.advanced(stream)
            mark = jnp.where(words.mix(stream).high >> 31 > 0, O, X)
        elif self.game.side != "both":
            mark = jnp.full_like(mover, *PLAYED[self.game.side])
        state = State(stream, no, code, mark, jnp.zeros_like(code))
        return self._replied(state, (mark != mover) & (known >> OVER & 1 == 0))

    def _act(self, state: State, action: Any) -> Afterstate:
        action, legal, state = self._checked(state, action)
        code = jnp.where(legal, _marked(state.code, action, state.mark), state.code)
        reward = jnp.where(legal, self._winner(code) * state.mark, 0)
        return Afterstate(state._replace(code=code), legal, reward)

    def _asked(self, afterstate: Afterstate) -> Any:
        """Return whether the opponent replies."""
        is_over = self._known(afterstate.state.code) >> OVER & 1 > 0
        return afterstate.legal & ~is_over & (self.game.side != "both")

    def _draw(self, afterstate: Afterstate, stream: Word) -> tuple[State, Step]:
        state = afterstate.state._replace(stream=stream)
        return self._arrived(afterstate.legal, self._replied(state, self._asked(afterstate)))

    @compiled
    def spawn(self, afterstate: Afterstate, index: Any) -> tuple[State, Step]:
        """Return what follows an afterstate by a chance index; a cell that is taken stays so."""
        state, cell = afterstate.state, jnp.asarray(index).astype(jnp.int32)
        played = self._asked(afterstate) & (self._known(state.code) >> cell & 1 > 0)
        code = jnp.where(played, _marked(state.code, cell, -state.mark), state.code)
        return self._arrived(afterstate.legal, state._replace(code=code))

    def _replied(self, state: State, asked: Any) -> State:
        """Return a state after the opponent's reply, where it is asked."""
        stream, code = words.advanced(state.stream, asked), state.code
        cells = self._known(code) >> REPLIES & LEGAL
        size = lax.population_count(cells).astype(jnp.uint32)
        k = words.choose(words.mix(stream).high, size).astype(jnp.int32)
        cell = jnp.asarray(KTH_CELL, jnp.int32)[cells * CELLS + k]
        code = jnp.where(asked, _marked(code, cell, -state.mark), code)
        return state._replace(stream=stream, code=code)

    def _arrived(self, legal: Any, state: State) -> tuple[State, Step]:
        reward = jnp.where(legal, self._winner(state.code) * state.mark, 0)
        passes = legal & (self.game.side == "both")
        terminated = self._known(state.code) >> OVER & 1 > 0
        state = state._replace(mark=jnp.where(passes, -state.mark, state.mark))
        return self._stepped(state, terminated, legal, reward)

    def probabilities(self, afterstate: Afterstate) -> Any:
        """Return those of the chance indices, `(n_chances,) float32`."""
        indices = jnp.arange(self.n_chances)
        cells = self._known(afterstate.state.code) >> REPLIES & LEGAL
        shares = (cells >> indices & 1) / lax.population_count(cells)
        return jnp.where(self._asked(afterstate), shares, indices == 0)

    def _winner(self, code: Any) -> Any:
        return (self._known(code) >> WINNER & 3) - 1

    def legal(self, state: State) -> Any:
        """Return the legal actions as bits, `int32`."""
        return self._known(state.code) & LEGAL

    def observation(self, state: State) -> Any:
        """Return the marks as the player sees them, `(3, 3) int8`."""
        digits = state.code // jnp.asarray(POWERS, jnp.int32) % 3
        marks = (digits - 3 * (digits == DIGITS[O])) * state.mark
        return marks.astype(jnp.int8).reshape(self.game.shape)

    @compiled
    def observe(self, state: State) -> tuple[Any, dict[str, Any]]:
        """Return the observation and infos of a state, all but those of a step."""
        mask, winner = self.mask(state).astype(jnp.int8), self._winner(state.code)
        info = {"action_mask": mask, "to_play": state.mark, "winner": winner}
        return self.observation(state), info


def _marked(code: Any, cell: Any, mark: Any) -> Any:
    """Return the code of a position with a mark on a free cell."""
    return code + jnp.asarray(POWERS, jnp.int32)[cell] * jnp.where(mark == X, DIGITS[X], DIGITS[O])
