"""The single tic-tac-toe environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from tile_envs.agents import Agent
from tile_envs.checks import brief, checked_action, checked_board_shape, checked_choice
from tile_envs.game_env import GameEnv, Info
from tile_envs.tictactoe import positions, render
from tile_envs.tictactoe.opponents import NAMED, ask, checked_opponent
from tile_envs.tictactoe.positions import (
    CELLS,
    DIGITS,
    KTH_CELL,
    POWERS,
    SET_SIZE,
    SIDE,
    Ints,
    O,
    X,
)

SIDES = ("X", "O", "random", "both")


class MarksPosition(NamedTuple):
    """A position's code, and the mark that the agent plays; None where it is to be drawn."""

    code: int
    mark: int | None


class TicTacToeEnv(GameEnv[MarksPosition]):
    r"""Tic-tac-toe, against an opponent or for both sides.

    ## Description

    Two players set their marks, X first, on a board of nine cells.  Three of one's own in a row,
    column or diagonal win; a full board without them is a draw.  Perfect play draws.  The agent
    plays one side, and the environment answers with the opponent's mark in the same step; or it
    plays both (`side="both"`), one mark a step.

    ## Action Space

    `Discrete(9)`: the cell, row by row.

        0 1 2
        3 4 5
        6 7 8

    A cell that is taken is an illegal action: nothing changes, the reward is 0 and
    `info["illegal"]` is true.

    ## Observation Space

    `Box(-1, 1, (3, 3), int8)`, from the point of view of the player to move: own marks 1, the
    other's -1, empty 0.  Against an opponent that is always the agent's point of view.

    ## Starting State

    An empty board; when the agent is O, the opponent has set its first X.  `reset` takes the option
    `board`, `(3, 3)` integers, 1 for X, -1 for O and 0 for empty, as play can lead to.  It decides
    who is to move; if that is the opponent, it moves at once.  A board on which the game is over is
    accepted: the first step ends the episode, with the reward 0; so does one that is over once the
    opponent has moved.

    ## Rewards

    | reward | when |
    |---|---|
    | 1 | the one who moved has won |
    | -1 | the opponent's answer has won |
    | 0 | otherwise, a draw included |

    ## Episode End

    Terminated when somebody has won or the board is full; truncated after `max_illegal` illegal
    actions in a row.

    ## Information

    | key | meaning |
    |---|---|
    | `action_mask` | `(9,) int8`, 1 for a free cell; all zero once the game is over |
    | `to_play` | the mark that the observation's 1 stands for, 1 X, -1 O |
    | `winner` | 1 X, -1 O, 0 nobody (yet) |
    | `illegal` | whether the last action was illegal |

    ## Arguments

    ```python
    gym.make("TicTacToe-v0", opponent="random", side="X", max_illegal=100)
    ```

    - `opponent`: `"random"`; `"minimax"`, which plays perfectly and chooses uniformly among the
      best cells; `"minimax_first"`, which plays the first of them; or any agent with
      Stable-Baselines3's `predict`, batched (it gets `action_masks` if it takes them).  Not used
      when `side="both"`.
    - `side`: what the agent plays, `"X"`, `"O"`, `"random"` (drawn at each reset) or `"both"`.
    - `max_illegal`: so many illegal actions in a row truncate the episode.

    ## Version History

    - v0: first version.

    Raises:
        ValueError: If an argument is not as described.
    """

    n_actions = CELLS
    reset_options = ("board",)
    state_name = "tic-tac-toe"

    def __init__(
        self,
        opponent: str | Agent = "random",
        side: str = "X",
        max_illegal: int = 100,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(max_illegal, render_mode)
        self.opponent = checked_opponent(opponent)
        self.side = checked_choice(side, "side", SIDES)
        self.observation_space = spaces.Box(-1, 1, (SIDE, SIDE), np.int8)
        self.action_space = spaces.Discrete(self.n_actions)
        self.positions = positions.solve()
        self._powers = POWERS.tolist()
        self._code = 0
        self._mark = X
        self._open_tables()

    def _open_tables(self) -> None:
        # A memoryview gives single numbers faster than an array does, and as Python's integers.
        self._winner = self.positions.winner.data
        self._over = self.positions.over.data
        self._legal = self.positions.legal.data
        self._kth_cell = KTH_CELL.data
        self._set_size = SET_SIZE.data
        self._policy = NAMED[self.opponent]().data if isinstance(self.opponent, str) else None

    def step(self, action: int) -> tuple[NDArray[np.int8], float, bool, bool, Info]:
        """Set a mark, and let the opponent answer.

        Args:
            action: The cell, 0 to 8, row by row.

        Returns:
            Observation, reward, terminated, truncated and info.

        Raises:
            ValueError: If the action is not an integer from 0 to 8; or if an opponent that the user
                brought plays a cell that is taken (nothing has changed then).
            ResetNeeded: Before the first `reset` and after the end of a game.
        """
        if self._ended is not False:
            self._refuse()
        if type(action) is not int or not 0 <= action < CELLS:
            action = checked_action(action, CELLS)
        legal = self._legal[self._code] >> action & 1
        reward = 0
        if legal:
            mark = self._mark
            code = self._code + DIGITS[mark] * self._powers[action]
            if self.side == "both":
                self._mark = -mark
            elif not self._over[code]:
                code = self._answered(code, -mark)
            self._code = code
            reward = self._winner[code] * mark
        terminated = bool(self._over[self._code])
        truncated = self._finish_step(legal, terminated)
        return self._observation(), float(reward), terminated, truncated, self._info()

    def afterstates(
        self, observations: ArrayLike
    ) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int8]]:
        """Return what each action makes of positions; see `tile_envs.tictactoe.afterstates`."""
        return positions.afterstates(observations)

    def legal_actions(self, observations: ArrayLike) -> NDArray[np.int8]:
        """Return the action masks of positions; see `tile_envs.tictactoe.legal_actions`."""
        return positions.legal_actions(observations)

    def draw(self, marks: NDArray[np.int8], mode: str) -> Any:
        """Return a board as text (mode `ansi`) or as a picture `(H, W, 3) uint8` (`rgb_array`)."""
        return (render.text if mode == "ansi" else render.picture)(marks)

    def _answered(self, code: int, mark: int) -> int:
        """Return the position after the reply of the opponent, who plays `mark`."""
        if self._policy is None:
            cell = int(ask(self.opponent, np.array([code]), np.array([mark]))[0])  # type: ignore[arg-type]
        else:
            cells = self._policy[code]
            k = (self._stream.word() >> 32) * self._set_size[cells] >> 32
            cell = self._kth_cell[cells * CELLS + k]
        answered: int = code + DIGITS[mark] * self._powers[cell]
        return answered

    def _start(self) -> None:
        self._start_from(MarksPosition(0, None))

    def _start_from(self, position: MarksPosition) -> None:
        code = position.code
        to_move = int(self.positions.to_move[code])
        if self.side == "both":
            mark = to_move
        elif self.side == "random":
            mark = O if self._stream.word() >> 63 else X
        else:
            mark = X if self.side == "X" else O
        answers = mark != to_move and not self._over[code]
        self._code, self._mark = self._answered(code, -mark) if answers else code, mark

    def _restore(self, position: MarksPosition) -> None:
        self._code, self._mark = position.code, position.mark or X

    def _position(self) -> dict[str, Any]:
        return {"board": self.positions.marks[self._code].copy(), "mark": self._mark}

    def _checked_position(self, values: Mapping[str, Any]) -> MarksPosition:
        board = checked_board_shape(values["board"], (SIDE, SIDE))
        codes = checked_codes(board[None], self.positions)
        mark = None
        if "mark" in values:  # in a state, not in reset options
            mark = int(checked_turns(np.atleast_1d(values["mark"]), codes, self)[0])
        return MarksPosition(int(codes[0]), mark)

    def _observation(self) -> NDArray[np.int8]:
        view: NDArray[np.int8] = self.positions.views[self._mark, self._code]
        return view.copy()

    def _info(self) -> Info:
        return {
            "action_mask": self.positions.masks[self._code].copy(),
            "to_play": self._mark,
            "winner": self._winner[self._code],
            "illegal": self._illegal,
        }

    def _draw(self, mode: str) -> Any:
        return self.draw(self.positions.marks[self._code], mode)


def checked_codes(boards: NDArray[Any], known: positions.Positions) -> NDArray[np.int64]:
    """Return the codes of boards `(n, 3, 3)`.

    Raises:
        ValueError: If they are no boards, or play cannot lead to one.
    """
    codes = positions.encode(positions.checked_marks(boards))
    lost = np.flatnonzero(~known.reachable[codes])
    if lost.size:
        raise ValueError(
            "board must be one that play can lead to (1 for X, who moves first, and -1 for O), "
            f"got {boards[lost[0]].tolist()}."
        )
    return codes


def checked_turns(marks: NDArray[Any], codes: NDArray[np.int64], env: TicTacToeEnv) -> Ints:
    """Return the marks to play, `(n,)`, of positions in the middle of games.

    Raises:
        ValueError: If one is not 1 or -1, not its turn, or not the side that the agent plays.
    """
    sides = {"X": (X,), "O": (O,)}.get(env.side, (X, O))
    usable = marks.shape == codes.shape and marks.dtype.kind in "iu"
    if (
        not usable
        or not (
            np.isin(marks, sides)
            & (env.positions.over[codes] | (marks == env.positions.to_move[codes]))
        ).all()
    ):
        raise ValueError(
            f"a state's mark must be the one to play, for side {env.side!r} one of {sides}, "
            f"got {brief(marks.tolist())}."
        )
    return marks.astype(np.int64)
