"""The environments of tic-tac-toe, of one game and of many."""

from bisect import bisect_right
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import checked_action
from tile_envs.base.env import GameEnv
from tile_envs.base.random_stream import LOW_HALF
from tile_envs.base.vector_env import GameVectorEnv
from tile_envs.game import Positions
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELLS, KTH_CELL, PLAYED, SET_SIZE, O, X, solve


class TicTacToeInfo(TypedDict):
    """The infos of one game; their manual is that of `TicTacToeEnv`."""

    action_mask: NDArray[np.int8]
    to_play: int
    winner: int
    illegal: bool


class TicTacToeEnv(GameEnv[TicTacToe, TicTacToeInfo]):
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
      best cells; `"minimax_first"`, which plays the first of them; some of these with
      probabilities, `{"minimax": 0.8, "random": 0.2}`, of which one is drawn for each reply; or any
      agent with Stable-Baselines3's `predict`, batched (it gets `action_masks` if it takes them).
      Not used when `side="both"`.
    - `side`: what the agent plays, `"X"`, `"O"`, `"random"` (drawn at each reset) or `"both"`.
    - `max_illegal`: the number of consecutive illegal actions that truncates an episode.

    ## Version History

    - v0: first version.
    """

    game_type = TicTacToe

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._positions = solve()
        self._side = self.game.side
        self._code = 0
        self._mark = X
        self._open_tables()

    def __getstate__(self) -> dict[str, Any]:
        items = super().__getstate__().items()
        return {name: value for name, value in items if not isinstance(value, memoryview)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open_tables()

    def _open_tables(self) -> None:
        # A memoryview gives single numbers faster than an array does, and as Python's integers.
        self._winner = self._positions.winner.data
        self._over = self._positions.over.data
        self._legal = self._positions.legal.data
        self._children = self._positions.children.reshape(-1).data
        self._kth_cell = KTH_CELL.data
        self._set_size = SET_SIZE.data
        policy = self.game.policies if self.game.mixture else None
        self._policy = None if policy is None else policy.cells.data
        self._thresholds = [*map(int, policy.thresholds)] if policy else []

    def step(  # type: ignore[override] # the info is a typed dictionary
        self, action: int
    ) -> tuple[NDArray[np.int8], float, bool, bool, TicTacToeInfo]:
        """Set a mark on a cell, 0 to 8, row by row, and let the opponent answer.

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
            code = self._children[self._code * CELLS + action]
            if self._side == "both":
                self._mark = -mark
            elif not self._over[code]:
                code = self._answered(code, -mark)
            self._code = code
            reward = self._winner[code] * mark
        terminated = bool(self._over[self._code])
        truncated = self._finish_step(legal, terminated)
        return self._observation(), float(reward), terminated, truncated, self._info()

    def _answered(self, code: int, mark: int) -> int:
        """Return the position after the reply of the opponent, who plays `mark`."""
        if self._policy is None:
            cell = int(self.game.ask_opponent(np.array([code]), np.array([mark]))[0])
        else:
            word, place = self._stream.word(), code
            if self._thresholds:
                place += bisect_right(self._thresholds, word & LOW_HALF) * 3**CELLS
            cells = self._policy[place]
            k = (word >> 32) * self._set_size[cells] >> 32
            cell = self._kth_cell[cells * CELLS + k]
        return self._children[code * CELLS + cell]

    def _start(self, position: Positions | None) -> None:
        code, *marks = (int(values[0]) for values in position or [[0]])
        to_move = int(self._positions.to_move[code])
        if marks or self._side == "both":
            self._code, self._mark = code, marks[0] if marks else to_move
            return
        if self._side == "random":
            mark = O if self._stream.word() >> 63 else X
        else:
            (mark,) = PLAYED[self._side]
        answers = mark != to_move and not self._over[code]
        self._code, self._mark = self._answered(code, -mark) if answers else code, mark

    def _position(self) -> dict[str, Any]:
        return {"board": self._positions.marks[self._code].copy(), "mark": self._mark}

    def _observation(self) -> NDArray[np.int8]:
        view: NDArray[np.int8] = self._positions.views[self._mark, self._code]
        return view.copy()

    def _info(self) -> TicTacToeInfo:
        return {
            "action_mask": self._positions.masks[self._code].copy(),
            "to_play": self._mark,
            "winner": self._winner[self._code],
            "illegal": self._illegal,
        }


class TicTacToeVectorEnv(GameVectorEnv[TicTacToe]):
    """Many games of tic-tac-toe at once.

    Observations, rewards, ends and infos are those of `TicTacToeEnv`, batched; so are the options,
    with the arguments of `GameVectorEnv`.

    An opponent that the user brings is asked once a step, for all games in which it is to move;
    numpy plays these games.
    """

    single = TicTacToeEnv
