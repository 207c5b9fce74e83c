"""The sliding games as registered environments: the two of this package, and a user's own."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

from tile_envs.errors import UsageError
from tile_envs.sliding.env import SlidingEnv, SlidingVectorEnv
from tile_envs.sliding.rules import RULES_2048, RULES_2584, Rules


def register_game(env_id: str, rules: Rules) -> None:
    """Register a sliding game, for `gym.make`, `gym.make_vec` and every command.

        from tile_envs.sliding import Rules, register_game

        rules = Rules(
            name="Powers3",
            faces=(0, *(3**t for t in range(1, 18))),
            merges=[(t, t, t + 1) for t in range(1, 17)],
            spawn={3: 0.9, 9: 0.1},
            goal=2187,
        )
        register_game("Powers3-v0", rules)

    The id takes the options of `Tiles2048Env`.  A command imports the module that registers a game
    where it is named with it: `--env my_module:Powers3-v0`.

    Args:
        env_id: The environment's id, with its version.
        rules: The rules.

    Raises:
        ValueError: If `rules` is not a Rules, or another game has this id.
    """
    rules = Rules.of(rules)
    registered = registry.get(env_id)
    if registered is not None:
        if registered.kwargs.get("rules") == rules:
            return
        raise UsageError(f"{env_id} is registered already, with other rules: choose another id.")
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
    2**t.  The largest tile is 131072, index 17; two of them do not merge.

    ## Starting State

    An empty board, then `start_tiles` new tiles, each on an empty cell drawn uniformly, whatever
    the placer.  `reset` takes two options:

    - `board`: tile indices to start from, of the environment's shape.  A board on which no move is
      legal is accepted: its action mask is zero, and the first step ends the episode.
    - `score`: the score that goes with it, 0 if not given.

    ## Rewards

    The sum of the faces of the tiles that the move has made by merging.

    ## Episode End

    Terminated when no move is legal; truncated after `max_illegal` consecutive illegal actions.

    ## Information

    | key | meaning |
    |---|---|
    | `action_mask` | `(4,) int8`, 1 for a legal action, as `action_space.sample(mask)` takes it |
    | `score` | the sum of the rewards so far |
    | `max_tile` | the face of the largest tile |
    | `illegal` | whether the last action was illegal |

    ## Arguments

    ```python
    gym.make(
        "Tiles2048-v0",
        shape=(4, 4),
        spawn={2: 0.9, 4: 0.1},
        start_tiles=2,
        placer="random",
        max_illegal=100,
    )
    ```

    - `shape`: rows and columns, 2 to 4 each.
    - `spawn`: the distribution of the new tile, face to probability.  Another one in the literature
      is `{2: 0.8, 4: 0.2}`.
    - `start_tiles`: the number of tiles a game starts with, or their faces, such as `[2, 2]`.
    - `placer`: who chooses the cell of the new tile, once its face is drawn: `"random"`, uniformly;
      `"adversary"`, against the player (see below); or any object with a method
      `place(boards, tiles) -> cells`, batched: afterstates `(n, R, C) uint8` and tile indices
      `(n,)` lead to cells `(n,)` in reading order, `row * C + column`.  If an object raises an
      error, which is passed on, or returns a cell that is not empty, nothing has changed.
    - `max_illegal`: the number of consecutive illegal actions that truncates an episode.

    The adversary places the tile on each empty cell in turn, and looks at the legal move with the
    highest value: its reward plus the number of empty cells after it, before another tile appears;
    if no move is legal, the value is -1.  It keeps the cell with the lowest value.  Ties are broken
    uniformly, by the game's random stream.  This is a heuristic that looks one move ahead: it does
    not minimize the score, and a player who knows it can do better than with tiles placed at
    random.

    ## Version History

    - v0: first version.

    Raises:
        ValueError: If an argument is not as described.
    """

    usual_rules = RULES_2048


class Tiles2584Env(SlidingEnv):
    """The game 2584, 2048 with Fibonacci numbers; what is not said here is as in `Tiles2048Env`.

    ## Description

    Two neighbors in the Fibonacci sequence that meet merge into the next number: 2 and 3 make 5, 3
    and 5 make 8, and two 1s make a 2.  Other equal tiles do not merge.  Leftwards, `2 3 8 3`
    becomes `5 8 3 0`, and rightwards `0 5 8 3`.

    ## Observation Space

    `Box(0, 31, shape, uint8)`, the tile index of each cell.  0 is empty, then 1, 2, 3, 5, 8, 13 …
    Index 17 shows 2584, the largest, 31, shows 2178309; no merge leads beyond it.

    ## Arguments

    By default, `spawn` is `{1: 0.9, 2: 0.1}`.  Another distribution in the literature is
    `{1: 0.75, 3: 0.25}`.

    ## Version History

    - v0: first version.
    """

    usual_rules = RULES_2584


class Tiles2048VectorEnv(SlidingVectorEnv):
    """Many games of 2048 at once; see `SlidingVectorEnv` and `Tiles2048Env`."""

    single = Tiles2048Env


class Tiles2584VectorEnv(SlidingVectorEnv):
    """Many games of 2584 at once; see `SlidingVectorEnv` and `Tiles2584Env`."""

    single = Tiles2584Env
