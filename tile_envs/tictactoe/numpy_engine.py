"""Many games of tic-tac-toe, played by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.engine import EVERY_GAME, Bools, Floats, Games, Info, NumpyEngine
from tile_envs.base.random_stream import STRIDE, Words, mix
from tile_envs.game import Positions
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import DIGITS, PLAYED, POWERS, ROW, Ints, O, X, pick, solve

_STRIDE = np.array(STRIDE, np.uint64)
_DIGITS = np.array([0, DIGITS[X], DIGITS[O]])
"""The digit of each mark in a code, by mark (-1 is the last)."""


class TicTacToeEngine(NumpyEngine):
    """Many games of tic-tac-toe.

    An opponent that the user brings is asked once a step, for all games in which it is to move.
    """

    game: TicTacToe

    def __init__(self, game: TicTacToe, num_envs: int, *limits: Any) -> None:
        super().__init__(game, num_envs, *limits)
        self.tables = solve()
        self.policy = game.policy
        self.codes = np.zeros(num_envs, np.int64)
        self.marks = np.ones(num_envs, np.int64)

    def _play(self, actions: Ints, frozen: Bools | None) -> tuple[Floats, Bools, Bools]:
        tables, marks = self.tables, self.marks
        masks = tables.masks.reshape(-1)
        legal = masks.take(self.codes * ROW + actions).view(np.bool_)
        if frozen is not None:
            legal &= ~frozen
        codes = self.codes + POWERS.take(actions) * _DIGITS.take(marks) * legal
        if self.game.side == "both":
            self.marks = np.where(legal, -marks, marks)
        else:
            codes = self._answered(codes, legal & ~tables.over.take(codes))
        self.codes = codes
        rewards = tables.winner.take(codes) * marks * legal
        return rewards.astype(np.float64), tables.over.take(codes), legal

    def _answered(self, codes: Ints, asked: Bools, games: Games = EVERY_GAME) -> Ints:
        """Let the opponent reply in the games of `games` in which it is asked."""
        marks = -self.marks[games]
        if self.policy is None:
            if asked.any():
                codes, digits = codes.copy(), _DIGITS.take(marks[asked])
                cells = self.game.ask_opponent(codes[asked], marks[asked])
                codes[asked] += POWERS.take(cells) * digits
            return codes
        self.streams[games] += asked * _STRIDE
        cell = pick(self.policy.take(codes), mix(self.streams[games]))
        answered: Ints = codes + POWERS.take(cell) * _DIGITS.take(marks) * asked
        return answered

    def _start(self, games: Games, positions: Positions | None) -> None:
        codes, *marks = positions or (np.zeros_like(self.codes),)
        codes, side = codes[games], self.game.side
        to_move = self.tables.to_move.take(codes)
        if marks or side == "both":
            self.codes[games], self.marks[games] = codes, marks[0][games] if marks else to_move
            return
        if side == "random":
            self.streams[games] += _STRIDE
            words = mix(self.streams[games])
            self.marks[games] = np.where(words >> np.uint64(63), O, X)
        else:
            (self.marks[games],) = PLAYED[side]
        asked = (self.marks[games] != to_move) & ~self.tables.over.take(codes)
        self.codes[games] = self._answered(codes, asked, games) if asked.any() else codes

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the positions of all games as `Game.checked_positions` reads them."""
        return {"board": self.tables.marks[self.codes], "mark": self.marks.copy()}

    def observations(self, games: Games) -> NDArray[np.int8]:
        """Return fresh observations, `(k, 3, 3) int8`."""
        return self.tables.views[self.marks[games], self.codes[games]]

    def masks(self, games: Games) -> NDArray[np.int8]:
        """Return fresh action masks, `(k, 9) int8`."""
        return self.tables.masks.take(self.codes[games], axis=0)

    def _info(self, games: Games) -> Info:
        return {
            "to_play": self.marks[games].copy(),
            "winner": self.tables.winner.take(self.codes[games]),
        }

    def choose_legal(self, words: Words) -> NDArray[np.int64]:
        """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
        return pick(self.tables.legal.take(self.codes), words)
