"""The vector environment of tic-tac-toe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from tile_envs.agents import Agent
from tile_envs.game_vector_env import EVERY_GAME, Bools, Floats, Games, GameVectorEnv, Info
from tile_envs.random_stream import STRIDE, Words, choose, mix
from tile_envs.tictactoe.env import TicTacToeEnv
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.opponents import NAMED, answers
from tile_envs.tictactoe.positions import (
    CELLS,
    DIGITS,
    KTH_CELL,
    POWERS,
    SET_SIZE,
    Ints,
    O,
    X,
    checked_codes,
    checked_turns,
    solve,
)

_STRIDE = np.array(STRIDE, np.uint64)
_CELLS = np.array(CELLS)
_DIGITS = np.array([0, DIGITS[X], DIGITS[O]])
"""The digit of each mark in a code, by mark (-1 is the last)."""


class MarksPositions(NamedTuple):
    """Codes `(n,)`, and the marks to play `(n,)`; None where these are to be drawn."""

    codes: Ints
    marks: Ints | None


class TicTacToeVectorEnv(GameVectorEnv[MarksPositions, TicTacToe]):
    """Many games of tic-tac-toe at once.

    Observations, rewards, ends and infos are those of `TicTacToeEnv`, batched; so are the
    arguments, with two more:

    - `autoreset_mode`: `AutoresetMode.NEXT_STEP`, `SAME_STEP` or `DISABLED`, or its value.
    - `max_episode_steps`: the step after which an episode is truncated; None for no limit.

    An opponent that the user brings is asked once a step, for all games in which it is to move.

    Raises:
        ValueError: If an argument is not as described.
    """

    def __init__(
        self,
        num_envs: int = 1,
        opponent: str | Agent = "random",
        side: str = "X",
        max_illegal: int = 100,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        single = TicTacToeEnv(opponent, side, max_illegal)
        super().__init__(single, num_envs, autoreset_mode, max_episode_steps, render_mode)
        self._known = solve()
        self._side, opponent = self.game.side, self.game.opponent
        self._policy = NAMED[opponent]() if isinstance(opponent, str) else None
        self._codes = np.zeros(self.num_envs, np.int64)
        self._marks = np.ones(self.num_envs, np.int64)

    def _play(self, actions: NDArray[np.int64], frozen: Bools) -> tuple[Floats, Bools, Bools]:
        known, marks = self._known, self._marks
        masks = known.masks.reshape(-1)
        legal = masks.take(self._codes * _CELLS + actions).view(np.bool_) & ~frozen
        codes = self._codes + POWERS.take(actions) * _DIGITS.take(marks) * legal
        if self._side == "both":
            self._marks = np.where(legal, -marks, marks)
        else:
            codes = self._answered(codes, legal & ~known.over.take(codes))
        self._codes = codes
        rewards = known.winner.take(codes) * marks * legal
        return rewards.astype(np.float64), known.over.take(codes), legal

    def _answered(self, codes: Ints, asked: Bools, games: Games = EVERY_GAME) -> Ints:
        """Let the opponent reply in the games of `games` in which it is asked."""
        marks = -self._marks[games]
        if self._policy is None:
            return self._answered_by_agent(codes, asked, marks)
        self._streams[games] += asked * _STRIDE
        cells = self._policy.take(codes)
        k = choose(mix(self._streams[games]), SET_SIZE.take(cells)).view(np.int64)
        cell = KTH_CELL.take(cells * _CELLS + k)
        answered: Ints = codes + POWERS.take(cell) * _DIGITS.take(marks) * asked
        return answered

    def _answered_by_agent(self, codes: Ints, asked: Bools, marks: Ints) -> Ints:
        if asked.any():
            codes, digits = codes.copy(), _DIGITS.take(marks[asked])
            cells = answers(self.game.opponent, codes[asked], marks[asked])  # type: ignore[arg-type]
            codes[asked] += POWERS.take(cells) * digits
        return codes

    def _start(self, games: Games) -> None:
        self._open(np.zeros_like(self._codes[games]), games)

    def _start_from(self, positions: MarksPositions, games: Games) -> None:
        self._open(positions.codes[games], games)

    def _open(self, codes: Ints, games: Games) -> None:
        """Begin games at given positions; an opponent that is to move does so."""
        to_move = self._known.to_move.take(codes)
        side = self._side
        if side == "both":
            self._marks[games], self._codes[games] = to_move, codes
            return
        if side == "random":
            self._streams[games] += _STRIDE
            words = mix(self._streams[games])
            self._marks[games] = np.where(words >> np.uint64(63), O, X)
        else:
            self._marks[games] = X if side == "X" else O
        asked = (self._marks[games] != to_move) & ~self._known.over.take(codes)
        self._codes[games] = self._answered(codes, asked, games) if asked.any() else codes

    def _restore(self, positions: MarksPositions) -> None:
        self._codes[:] = positions.codes
        if positions.marks is not None:
            self._marks[:] = positions.marks

    def _positions(self) -> dict[str, Any]:
        return {"board": self._known.marks[self._codes], "mark": self._marks.copy()}

    def _checked_positions(self, values: Mapping[str, Any], n: int) -> MarksPositions:
        codes = checked_codes(self._broadcast_boards(values["board"]))
        if "mark" not in values:  # reset options, not a state
            return MarksPositions(codes, None)
        return MarksPositions(codes, checked_turns(np.asarray(values["mark"]), codes, self._side))

    def _observations(self, games: Games) -> NDArray[np.int8]:
        return self._known.views[self._marks[games], self._codes[games]]

    def _masks(self, games: Games) -> NDArray[np.int8]:
        return self._known.masks.take(self._codes[games], axis=0)

    def _infos(self, games: Games) -> Info:
        return {
            "to_play": self._marks[games].copy(),
            "winner": self._known.winner.take(self._codes[games]),
        }

    def _choose_legal(self, words: Words) -> NDArray[np.int64]:
        cells = self._known.legal.take(self._codes)
        k = choose(words, SET_SIZE.take(cells)).view(np.int64)
        actions: Ints = KTH_CELL.take(cells * _CELLS + k)
        return actions

    def _draw(self, game: int, mode: str) -> Any:
        return self.game.draw(self._known.marks[self._codes[game]], mode)
