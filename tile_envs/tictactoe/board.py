"""One game of tic-tac-toe, as the single environment plays it."""

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base import sets
from tile_envs.base.env import Board
from tile_envs.base.random_stream import LOW_HALF, Stream
from tile_envs.game import Positions
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELLS, PLAYED, X, solve


class TicTacToeBoard(Board):
    """A position, by its code, and the mark that is played."""

    changing = "legal", "code", "mark"

    def __init__(self, game: TicTacToe) -> None:
        super().__init__(game)
        self._positions = positions = solve()
        self._side = game.side
        self._winner, self._legal = positions.winner.data, positions.legal.data
        self._children = positions.children.reshape(-1).data
        self._size, self._kth = sets.SIZE.data, sets.KTH.data
        policy = game.policies if game.mixture else None
        self._policy = policy and policy.cells.data
        self._thresholds = [*map(int, policy.thresholds)] if policy else []
        self._set(0, X)

    def begin(self, stream: Stream, position: Positions | None) -> None:
        codes, *given = position or ([0],)
        code = int(codes[0])
        mark = int(self._positions.to_move[code])
        if given:  # a state's
            mark = int(given[0][0])
        elif self._side != "both":
            to_move, marks = mark, PLAYED[self._side]
            mark = marks[stream.word() >> 63] if self._side == "random" else marks[0]
            if mark != to_move and self._legal[code]:
                code = self._answered(code, stream)
        self._set(code, mark)

    def play(self, action: int, stream: Stream) -> int:
        mark, code = self.mark, self._children[self.code * CELLS + action]
        if self._side == "both":
            self._set(code, -mark)
        else:
            self._set(self._answered(code, stream) if self._legal[code] else code, mark)
        return self._winner[self.code] * mark

    def _set(self, code: int, mark: int) -> None:
        self.code, self.mark, self.legal = code, mark, self._legal[code]

    def _answered(self, code: int, stream: Stream) -> int:
        """Return the position after the reply of the opponent, who is to move."""
        if self._policy is None:
            cell = int(self.game.ask_opponent(np.array([code]))[0])
        else:
            word = stream.word()
            which = bisect_right(self._thresholds, word & LOW_HALF)
            cells = self._policy[which * 3**CELLS + code]
            cell = self._kth[cells * sets.MOST + ((word >> 32) * self._size[cells] >> 32)]
        return self._children[code * CELLS + cell]

    def observation(self) -> NDArray[np.int8]:
        view: NDArray[np.int8] = self._positions.views[self.mark, self.code]
        return view.copy()

    def info(self) -> dict[str, Any]:
        return {
            "action_mask": self._positions.masks[self.code].copy(),
            "to_play": self.mark,
            "winner": self._winner[self.code],
        }

    def position(self) -> dict[str, Any]:
        return {"board": self._positions.marks[self.code].copy(), "mark": self.mark}
