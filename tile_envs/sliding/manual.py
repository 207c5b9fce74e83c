"""The manual of the sliding environments: one text, filled in for each game."""

from __future__ import annotations

import textwrap

TEMPLATE = """\
{title}

## Description

{description} After each move that changed the board a new tile appears.

## Action Space

`Discrete(4)`:

- 0: up
- 1: right
- 2: down
- 3: left

Tiles merge from the wall that they move towards, each at most once a move{example}. A move is legal
if it changes the board. An illegal move does nothing: no tile appears, the reward is 0, and
`info["illegal"]` is true.

## Observation Space

`Box(0, {largest}, shape, uint8)`, the tile index of each cell. {tiles}

## Starting State

An empty board, then `start_tiles` new tiles, each on an empty cell drawn uniformly, whatever the
placer. `reset` takes two options:

- `board`: tile indices to start from, of the environment's shape. A board on which no move is
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
    "{env_id}",
    shape=(4, 4),
    spawn={spawn},
    start_tiles=2,
    placer="random",
    max_illegal=100,
)
```

- `shape`: rows and columns, 2 to 4 each.
- `spawn`: the distribution of the new tile, face to probability.
- `start_tiles`: the number of tiles a game starts with, or their faces, such as `[2, 2]`.
- `placer`: who chooses the cell of the new tile, once its face is drawn: `"random"`, uniformly;
  `"adversary"`, against the player (see below); or any object with a method
  `place(boards, tiles) -> cells`, batched: afterstates `(n, R, C) uint8` and tile indices `(n,)`
  lead to cells `(n,)` in reading order, `row * C + column`. If an object raises an error,
  which is passed on, or returns a cell that is not empty, nothing has changed.
- `max_illegal`: the number of consecutive illegal actions that truncates an episode.

The adversary places the tile on each empty cell in turn, and looks at the legal move with the
highest value: its reward plus the number of empty cells after it, before another tile appears; if
no move is legal, the value is -1. It keeps the cell with the lowest value. Ties are broken
uniformly, by the game's random stream. This is a heuristic that looks one move ahead: it does not
minimise the score, and a player who knows it can do better than with tiles placed at random.

{spawn_note}

## Version History

- v0: first version.

Raises:
    ValueError: If an argument is not as described.
"""


def _manual(**fillings: object) -> str:
    """Return the text with its gaps filled in, and its paragraphs wrapped anew."""
    blocks = TEMPLATE.format(**fillings).split("\n\n")
    plain = [not block.startswith(("#", "-", "|", "```", "Raises")) for block in blocks]
    return "\n\n".join(
        textwrap.fill(" ".join(block.split()), 96) if is_plain else block
        for block, is_plain in zip(blocks, plain, strict=True)
    )


FAMILY = _manual(
    title="A sliding game, made of its rules.",
    description=(
        "Tiles slide on a board as far as they go, and two tiles that meet merge if the rules say "
        "so (`tile_envs.sliding.Rules`)."
    ),
    example="",
    largest="rules.largest",
    tiles="0 is empty, index t shows the face `rules.faces[t]`.",
    env_id="MyGame-v0",
    spawn="None",
    spawn_note="Without `spawn`, new tiles are distributed as the rules say.",
)

TILES_2048 = _manual(
    title="The game 2048.",
    description=(
        "Tiles slide on a board as far as they go, and two equal tiles that meet merge into one of "
        "twice the face. The game was made by Gabriele Cirulli (2014)."
    ),
    example=": leftwards, `2 2 2 2` becomes `4 4 0 0` and `4 2 2 0` becomes `4 4 0 0`",
    largest=17,
    tiles=(
        "0 is empty, index t shows the face 2**t. The largest tile is 131072, index 17; two of "
        "them do not merge."
    ),
    env_id="Tiles2048-v0",
    spawn="{2: 0.9, 4: 0.1}",
    spawn_note="Another distribution in the literature is `{2: 0.8, 4: 0.2}`.",
)

TILES_2584 = _manual(
    title="The game 2584, 2048 with Fibonacci numbers.",
    description=(
        "Tiles slide on a board as far as they go, and two neighbours in the Fibonacci sequence "
        "that meet merge into the next number: 2 and 3 make 5, 3 and 5 make 8, and two 1s make "
        "a 2. Other equal tiles do not merge."
    ),
    example=": `2 3 8 3` becomes `5 8 3 0` leftwards and `0 5 8 3` rightwards",
    largest=31,
    tiles=(
        "0 is empty, then 1, 2, 3, 5, 8, 13 … Index 17 shows 2584, the largest, 31, shows 2178309; "
        "no merge leads beyond it."
    ),
    env_id="Tiles2584-v0",
    spawn="{1: 0.9, 2: 0.1}",
    spawn_note="Another distribution in the literature is `{1: 0.75, 3: 0.25}`.",
)
