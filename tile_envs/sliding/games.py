"""The two sliding games as registered: rules given a name, and the manuals."""

from __future__ import annotations

from tile_envs.sliding.env import SlidingEnv
from tile_envs.sliding.rules import RULES_2048, RULES_2584
from tile_envs.sliding.vector import SlidingVectorEnv


class Tiles2048Env(SlidingEnv):
    """The game 2048.

    ## Description

    Tiles slide on a board as far as they go, and two equal tiles that meet merge into one of twice
    the face.  After each move that changed the board a new tile appears.  The game was made by
    Gabriele Cirulli (2014).

    ## Action Space

    `Discrete(4)`:

    - 0: up
    - 1: right
    - 2: down
    - 3: left

    Tiles merge beginning at the wall that they move towards, each at most once a move: leftwards,
    `2 2 2 2` becomes `4 4 0 0` and `4 2 2 0` becomes `4 4 0 0`.  A move is legal when it changes
    the board.  An illegal one does nothing: no tile appears, the reward is 0, and `info["illegal"]`
    is true.

    ## Observation Space

    `Box(0, 17, shape, uint8)`, the tile index of each cell: 0 is empty, index t shows the face
    2**t.  The largest tile is 131072, index 17; two of them do not merge.

    ## Starting State

    An empty board, then `start_tiles` new tiles.  `reset` takes two options:

    - `board`: tile indices to start from, of the environment's shape.  A board on which no move is
      legal is accepted: its action mask is zero, and the first step ends the episode.
    - `score`: the score that goes with it, 0 if not given.

    ## Rewards

    The sum of the faces of the tiles that the move has made by merging.

    ## Episode End

    Terminated when no move is legal; truncated after `max_illegal` illegal actions in a row.

    ## Information

    | key | meaning |
    |---|---|
    | `action_mask` | `(4,) int8`, 1 for a legal action, as `action_space.sample(mask)` takes it |
    | `score` | the sum of the rewards so far |
    | `max_tile` | the face of the largest tile |
    | `illegal` | whether the last action was illegal |

    ## Arguments

    ```python
    gym.make("Tiles2048-v0", shape=(4, 4), spawn={2: 0.9, 4: 0.1}, start_tiles=2, max_illegal=100)
    ```

    - `shape`: rows and columns, 2 to 4 each.
    - `spawn`: the law of the new tile, face to probability; its cell is any empty one, uniformly.
    - `start_tiles`: how many tiles a game starts with, or their faces, such as `[2, 2]`.
    - `max_illegal`: so many illegal actions in a row truncate the episode.

    ## Version History

    - v0: first version.

    Raises:
        ValueError: If an argument is not as described.
    """

    rules = RULES_2048


class Tiles2584Env(SlidingEnv):
    """The game 2584, 2048 with Fibonacci numbers.

    ## Description

    Tiles slide on a board as far as they go, and two neighbours in the Fibonacci sequence that meet
    merge into the next number: 2 and 3 make 5, 3 and 5 make 8, and two 1s make a 2.  Other equal
    tiles do not merge.  After each move that changed the board a new tile appears.

    ## Action Space

    `Discrete(4)`:

    - 0: up
    - 1: right
    - 2: down
    - 3: left

    Tiles merge beginning at the wall that they move towards, each at most once a move: `2 3 8 3`
    becomes `5 8 3 0` leftwards and `0 5 8 3` rightwards.  A move is legal when it changes the
    board.  An illegal one does nothing: no tile appears, the reward is 0, and `info["illegal"]` is
    true.

    ## Observation Space

    `Box(0, 31, shape, uint8)`, the tile index of each cell: 0 is empty, then 1, 2, 3, 5, 8, 13 …
    Index 17 shows 2584, the largest, 31, shows 2178309; no merge leads beyond it.

    ## Starting State

    An empty board, then `start_tiles` new tiles.  `reset` takes two options:

    - `board`: tile indices to start from, of the environment's shape.  A board on which no move is
      legal is accepted: its action mask is zero, and the first step ends the episode.
    - `score`: the score that goes with it, 0 if not given.

    ## Rewards

    The sum of the faces of the tiles that the move has made by merging.

    ## Episode End

    Terminated when no move is legal; truncated after `max_illegal` illegal actions in a row.

    ## Information

    | key | meaning |
    |---|---|
    | `action_mask` | `(4,) int8`, 1 for a legal action, as `action_space.sample(mask)` takes it |
    | `score` | the sum of the rewards so far |
    | `max_tile` | the face of the largest tile |
    | `illegal` | whether the last action was illegal |

    ## Arguments

    ```python
    gym.make("Tiles2584-v0", shape=(4, 4), spawn={1: 0.9, 2: 0.1}, start_tiles=2, max_illegal=100)
    ```

    - `shape`: rows and columns, 2 to 4 each.
    - `spawn`: the law of the new tile, face to probability; its cell is any empty one, uniformly.
      The other law in the literature is `{1: 0.75, 3: 0.25}`.
    - `start_tiles`: how many tiles a game starts with, or their faces, such as `[1, 1]`.
    - `max_illegal`: so many illegal actions in a row truncate the episode.

    ## Version History

    - v0: first version.

    Raises:
        ValueError: If an argument is not as described.
    """

    rules = RULES_2584


class Tiles2048VectorEnv(SlidingVectorEnv):
    """Many games of 2048 at once; see `SlidingVectorEnv` and `Tiles2048Env`."""

    single_class = Tiles2048Env


class Tiles2584VectorEnv(SlidingVectorEnv):
    """Many games of 2584 at once; see `SlidingVectorEnv` and `Tiles2584Env`."""

    single_class = Tiles2584Env
