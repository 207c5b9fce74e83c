"""The environments of the sliding games, of one game and of many, and their registration."""

from typing import Any, ClassVar, TypedDict

import numpy as np
from gymnasium.envs.registration import register, registry
from numpy.typing import NDArray

from tile_envs.base.checks import brief
from tile_envs.base.env import GameEnv
from tile_envs.base.vector_env import GameVectorEnv
from tile_envs.errors import UsageError
from tile_envs.sliding.board import board_of
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import RULES_2584, Rules, checked_shape, rules_2048


class SlidingInfo(TypedDict):
    """The infos of one game; their manual is that of `Tiles2048Env`."""

    action_mask: NDArray[np.int8]
    score: int
    max_tile: int
    illegal: bool


class SlidingEnv(GameEnv[SlidingGame, SlidingInfo]):
    """A sliding game, made of its `rules` (`tile_envs.sliding.Rules`).

    Observations are `Box(0, rules.largest, shape, uint8)`, and index t shows `rules.faces[t]`; else
    as in the manual of `Tiles2048Env`.
    """

    game_type = SlidingGame
    board_of = staticmethod(board_of)
    own_rules: ClassVar[Any] = None
    """The rules on a board of a shape, if the class has a game of its own."""

    @classmethod
    def game_of(cls, rules: Any = None, shape: Any = (4, 4), **options: Any) -> SlidingGame:
        """Return the game of these options, by the rules of this class if none are given."""
        shape = checked_shape(shape)
        own: Rules | None = cls.own_rules and cls.own_rules(shape)
        given = own if rules is None else rules
        game: SlidingGame = super().game_of(rules=given, shape=shape, **options)
        if own is not None and own != game.rules:
            found = f"other rules, {brief(rules)}: register them with register_game(id, rules)"
            raise UsageError(f"{cls.__name__} is a game of {own.name}, got {found}.")
        return game


class SlidingVectorEnv(GameVectorEnv[SlidingGame]):
    """Many sliding games at once.

    Observations `(num_envs, R, C) uint8`, rewards, ends, infos and options are those of the single
    environment, batched, with the arguments of `GameVectorEnv`.  A user's placer is asked once a
    step, for all games in which a tile appears; numpy plays these games.
    """

    single = SlidingEnv


def register_game(env_id: str, rules: Rules) -> None:
    """Register a sliding game, for `gym.make`, `gym.make_vec` and every command.

        faces = (0, *(3**t for t in range(1, 18)))
        merges = [(t, t, t + 1) for t in range(1, 17)]
        register_game("Powers3-v0", Rules("Powers3", faces, merges, {3: 0.9, 9: 0.1}, goal=2187))

    The id, which ends with its version, takes the options of `Tiles2048Env`.  A command imports the
    module that registers a game where it is named with it: `--env my_module:Powers3-v0`.  An id of
    another game is refused by a `ValueError`.
    """
    rules = Rules.of(rules)
    if (registered := registry.get(env_id)) is not None:
        known = registered.kwargs.get("rules")
        if known == rules and known.palette == rules.palette:
            return
        found = "registered already, with other rules or colors"
        raise UsageError(f"{env_id} is {found}: choose another id.")
    register(
        id=env_id,
        entry_point="tile_envs.sliding:SlidingEnv",
        vector_entry_point="tile_envs.sliding:SlidingVectorEnv",
        kwargs={"rules": rules},
    )


class Tiles2048Env(SlidingEnv):
    """The game 2048.

    ## Description

    Tiles slide on a board as far as they go, and two equal tiles that meet merge into one of twice
    the face.  After each move that changed the board a new tile appears.  The game was made by
    Gabriele Cirulli (2014).

    ## Action Space

    `Discrete(4)`: 0 up, 1 right, 2 down, 3 left.

    Tiles merge from the wall that they move towards, each at most once a move: leftwards, `2 2 2 2`
    becomes `4 4 0 0` and `4 2 2 0` becomes `4 4 0 0`.  A move is legal if it changes the board.  An
    illegal move does nothing: no tile appears, the reward is 0, and `info["illegal"]` is true.

    ## Observation Space

    `Box(0, 17, shape, uint8)`, the tile index of each cell.  0 is empty, index t shows the face
    2**t: `game.faces(boards)` returns the faces as `int64` (`2 ** boards`, in `uint8`, is 0 from
    256 on), and `game.indices(faces)` the tile indices.  The largest tile is 131072, index 17; two
    of them do not merge.  Above 16 cells the largest tile, and with it the bound of the `Box`,
    rises while a move pays less than 2**33: to 2**29 on 5×5, to 2**27 on 8×8.

    ## Starting State

    An empty board, then `start_tiles` new tiles, each on an empty cell drawn uniformly, whatever
    the placer.  With `starts`, some games begin with one of these boards instead, and score 0.
    `reset` takes two options, which override `starts`:

    - `board`: tile indices to start from, of the environment's shape.  A board on which no move is
      legal is accepted: its action mask is zero, and the first step ends the episode.
    - `score`: the score that goes with it, 0 if not given.

    ## Rewards

    The sum of the faces of the tiles that the move has made by merging.

    ## Episode End

    Terminated when no move is legal, or, with `terminate_at_goal`, once a tile has reached the
    goal, 2048, which makes all moves illegal.  Truncated after `max_illegal` consecutive illegal
    actions.

    ## Information

    | key | meaning |
    |---|---|
    | `action_mask` | `(4,) int8`, 1 for a legal action; zeros after termination |
    | `score` | the sum of the rewards so far |
    | `max_tile` | the face of the largest tile |
    | `illegal` | whether the last action was illegal |

    ## Arguments

    ```python
    gym.make(
        "Tiles2048-v0", shape=(4, 4), spawn={2: 0.9, 4: 0.1}, start_tiles=2, placer="random",
        starts=None, start_fraction=0.5, terminate_at_goal=False, max_illegal=100,
    )
    ```

    - `shape`: rows and columns, 1 to 8 each, with 3 cells or more.  Boards of 2 to 4 rows and
      columns are packed into integers, which is faster; n-tuple networks and the solver play only
      these.
    - `spawn`: the distribution of the new tile, face to probability.  Another one in the literature
      is `{2: 0.8, 4: 0.2}`.
    - `start_tiles`: the number of tiles a game starts with, or their faces, such as `[2, 2]`.
    - `placer`: who chooses the cell of the new tile, once its face is drawn: `"random"`, uniformly;
      `"adversary"`, against the player (see below); or any object with a method
      `place(boards, tiles) -> cells`, batched: afterstates `(n, R, C) uint8` and tile indices
      `(n,)` lead to cells `(n,)` in reading order, `row * C + column`.  If an object raises an
      error, which is passed on, or returns a cell that is not empty, nothing has changed.
    - `starts`: boards that new games begin with, `(m, R, C)` tile indices with legal actions, or
      the path of a file: a `.npy` of boards, or the `.npz` of `python -m baselines record`.
    - `start_fraction`: the fraction of games that do; the others have ordinary starts.  The game's
      random stream decides which game begins with which board.
    - `terminate_at_goal`, `max_illegal`: see the end of an episode.

    The adversary, on 2 to 4 rows and columns, values each empty cell by the best legal move after a
    tile there: its reward plus the number of cells that are empty after it, -1 if no move is legal.
    It takes the cell with the lowest value; ties are broken uniformly, by the game's random stream.
    It does not minimize the score, and a player who knows this heuristic can do better than with
    tiles placed at random.

    ## Version History

    - v0: first version.
    """

    own_rules = staticmethod(rules_2048)


class Tiles2584Env(SlidingEnv):
    """The game 2584: 2048 with Fibonacci numbers.

    ## Description

    Two neighbors in the Fibonacci sequence that meet merge into the next number: 2 and 3 make 5, 3
    and 5 make 8, and two 1s make a 2.  Other equal tiles do not merge.  Leftwards, `2 3 8 3`
    becomes `5 8 3 0`, and rightwards `0 5 8 3`.

    ## Action Space

    `Discrete(4)`: 0 up, 1 right, 2 down, 3 left, as in `Tiles2048-v0`.

    ## Observation Space

    `Box(0, 31, shape, uint8)`, the tile index of each cell.  0 is empty, then 1, 2, 3, 5, 8, 13 …
    Index 17 shows 2584; the largest, 31, shows 2178309: no merge leads beyond it.

    ## Starting State, Rewards, Information

    As in `Tiles2048-v0`: `start_tiles` new tiles; the sum of the faces that merging has made.

    ## Episode End

    As in `Tiles2048-v0`; the goal is 2584.

    ## Arguments

    Those of `Tiles2048-v0`, with `spawn={1: 0.9, 2: 0.1}`.  Another distribution in the literature
    is `{1: 0.75, 3: 0.25}`.

    ## Version History

    - v0: first version.
    """

    own_rules = staticmethod(lambda shape: RULES_2584)


class Tiles2048VectorEnv(SlidingVectorEnv):
    """Many games of 2048 at once; see `SlidingVectorEnv` and `Tiles2048Env`."""

    single = Tiles2048Env


class Tiles2584VectorEnv(SlidingVectorEnv):
    """Many games of 2584 at once; see `SlidingVectorEnv` and `Tiles2584Env`."""

    single = Tiles2584Env
