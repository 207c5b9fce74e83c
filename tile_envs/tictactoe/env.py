"""The environments of tic-tac-toe, of one game and of many."""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.env import GameEnv
from tile_envs.base.vector_env import GameVectorEnv
from tile_envs.tictactoe.board import TicTacToeBoard
from tile_envs.tictactoe.game import TicTacToe


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
    who is to move; if that is the opponent, it moves at once.  A board that is over, at once or
    after the opponent's move, is accepted: the first step ends the episode, with the reward 0.

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
    | `action_mask` | `(9,) int8`, 1 for a free cell; zeros after termination |
    | `to_play` | the mark that 1 stands for in the observation: 1 X, -1 O |
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
    board_of = TicTacToeBoard


class TicTacToeVectorEnv(GameVectorEnv[TicTacToe]):
    """Many games as of `TicTacToeEnv`, whose options it takes with those of `GameVectorEnv`.

    An opponent that the user brings is asked once a step, for all games in which it is to move;
    numpy plays these games.
    """

    single = TicTacToeEnv
