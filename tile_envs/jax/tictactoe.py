"""Tic-tac-toe in JAX: what is known of each position, looked up by its code."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tile_envs.errors import extra
from tile_envs.jax import words
from tile_envs.jax.base import JaxEnv, Step
from tile_envs.jax.words import Word
from tile_envs.tictactoe.game import TicTacToe as Game
from tile_envs.tictactoe.positions import CELLS, DIGITS, KTH_CELL, PLAYED, POWERS, O, X, solve

with extra("jax"):
    import jax.numpy as jnp
    from jax import lax

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


class Afterstate(NamedTuple):
    """What an action makes of a state, before the opponent replies.

    Attributes:
        legal: `bool`, whether the action was legal.
        asked: `bool`, whether the opponent replies.
        code: `int32`, the position.
        mark: `int32`, the mark that has been set.
        illegal_run: `int32`, the illegal actions in a row.
    """

    legal: Any
    asked: Any
    code: Any
    mark: Any
    illegal_run: Any


class TicTacToe(JaxEnv[Game]):
    """Tic-tac-toe; chance indices are the cells of the opponent's reply, if there are replies."""

    @property
    def n_chances(self) -> int:
        """The cells; with side "both" there is nothing to draw."""
        return 1 if self.game.side == "both" else CELLS

    @cached_property
    def _table(self) -> Any:
        """What is known of each position, as bits."""
        tables, policy = solve(), self.game.policy
        assert policy is not None
        known = tables.legal | policy << REPLIES | tables.over.astype(np.int64) << OVER
        known |= tables.winner + 1 << WINNER | tables.to_move + 1 << MOVER
        return known.astype(np.int32)

    def _known(self, code: Any) -> Any:
        return jnp.asarray(self._table)[code]

    def _begin(self, stream: Word) -> State:
        return self._begin_at(stream, np.zeros((3, 3), np.int32))

    def _begin_at(self, stream: Word, board: Any) -> State:
        code = (board.reshape(-1) % 3 * POWERS).sum().astype(np.int32) + jnp.int32(stream.low * 0)
        known, drawn = self._known(code), self.game.side == "random"
        mover = (known >> MOVER & 3) - 1
        stream = words.advanced(stream, int(drawn))
        mark = mover
        if drawn:
            mark = jnp.where(words.mix(stream).high >> 31 > 0, O, X)
        elif self.game.side != "both":
            mark = jnp.full_like(mover, *PLAYED[self.game.side])
        code, stream = self._replied(
            code, -mark, (mark != mover) & (known >> OVER & 1 == 0), stream
        )
        no = jnp.zeros_like(code, jnp.bool_)
        return State(stream, no, code, mark, jnp.zeros_like(code))

    def afterstate(self, state: State, action: Any) -> Afterstate:
        """Return what an action makes of a state, before the opponent replies."""
        action = jnp.asarray(action).astype(jnp.int32)
        inside = (action >= 0) & (action < CELLS) & ~state.over
        action = jnp.where(inside, action, 0)
        legal = inside & (self._known(state.code) >> action & 1 > 0)
        code = jnp.where(legal, _marked(state.code, action, state.mark), state.code)
        asked = legal & (self._known(code) >> OVER & 1 == 0) & (self.game.side != "both")
        run = self._illegal_run(state, legal)
        return Afterstate(legal, asked, code, state.mark, run)

    def _draw(self, afterstate: Afterstate, stream: Word) -> tuple[State, Step]:
        code, stream = self._replied(afterstate.code, -afterstate.mark, afterstate.asked, stream)
        return self._arrived(afterstate, code, stream)

    def spawn(self, afterstate: Afterstate, index: Any) -> tuple[State, Step]:
        """Return what follows an afterstate by a chance index; a cell that is taken stays so."""
        code, cell = afterstate.code, jnp.asarray(index).astype(jnp.int32)
        free = self._known(code) >> cell & 1 > 0
        code = jnp.where(afterstate.asked & free, _marked(code, cell, -afterstate.mark), code)
        none = jnp.zeros_like(code, jnp.uint32)
        return self._arrived(afterstate, code, Word(none, none))

    def _replied(self, code: Any, mark: Any, asked: Any, stream: Word) -> tuple[Any, Word]:
        """Return a position and a stream after the opponent's reply, where it is asked."""
        stream = words.advanced(stream, asked)
        cells = self._known(code) >> REPLIES & LEGAL
        size = lax.population_count(cells).astype(jnp.uint32)
        k = words.choose(words.mix(stream).high, size).astype(jnp.int32)
        cell = jnp.asarray(KTH_CELL, jnp.int32)[cells * CELLS + k]
        return jnp.where(asked, _marked(code, cell, mark), code), stream

    def _arrived(self, afterstate: Afterstate, code: Any, stream: Word) -> tuple[State, Step]:
        """See what a position has led to."""
        legal, _, _, mark, run = afterstate
        known = self._known(code)
        reward = jnp.where(legal, ((known >> WINNER & 3) - 1) * mark, 0)
        terminated, truncated = known >> OVER & 1 > 0, run >= self.max_illegal
        following = jnp.where(legal & (self.game.side == "both"), -mark, mark)
        state = State(stream, terminated | truncated, code, following, run)
        observation, info = self.observe(state)
        info |= {"reward": reward, "illegal": ~legal}
        return state, Step(observation, reward.astype(jnp.float32), terminated, truncated, info)

    def probabilities(self, afterstate: Afterstate) -> Any:
        """Return those of the chance indices, `(n_chances,) float32`."""
        indices = jnp.arange(self.n_chances)
        cells = self._known(afterstate.code) >> REPLIES & LEGAL
        shares = (cells >> indices & 1) / lax.population_count(cells)
        return jnp.where(afterstate.asked, shares, indices == 0)

    def legal(self, state: State) -> Any:
        """Return the legal actions as bits, `int32`."""
        return self._known(state.code) & LEGAL

    def observation(self, position: State | Afterstate) -> Any:
        """Return the marks of a state or an afterstate, `(3, 3) int8`, as the player sees them."""
        digits = position.code // jnp.asarray(POWERS, jnp.int32) % 3
        marks = (digits - 3 * (digits == DIGITS[O])) * position.mark
        return marks.astype(jnp.int8).reshape(self.game.shape)

    def observe(self, state: State) -> tuple[Any, dict[str, Any]]:
        """Return the observation and infos of a state, all but those of a step."""
        winner = (self._known(state.code) >> WINNER & 3) - 1
        mask = self.mask(state).astype(jnp.int8)
        info = {"action_mask": mask, "to_play": state.mark, "winner": winner}
        return self.observation(state), info


def _marked(code: Any, cell: Any, mark: Any) -> Any:
    """Return the code of a position with a mark on a free cell."""
    return code + jnp.asarray(POWERS, jnp.int32)[cell] * jnp.where(mark == X, DIGITS[X], DIGITS[O])
