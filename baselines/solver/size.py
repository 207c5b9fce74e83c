"""How many boards a sliding game has at most: whether it can be solved is known before it starts.

A tile that does not appear by itself is made of two others, and while the second one is made, the
first takes up a cell.  So a tile needs a number of free cells (`Rules.cells_needed`), and of the
tiles on a board of n cells, the k-th largest was made on n - k + 1 cells at most: for every j, at
most n - j tiles need more than j cells.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement

from baselines.memory import check_memory
from baselines.solver.keys import MOST_CELLS
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import MAX_SIDE

BYTES_PER_BOARD = 32
"""What a board takes as a state and as an afterstate: a key and a value each."""


def most_boards(game: SlidingGame) -> int:
    """Return an upper bound of the number of reachable boards, up to symmetry."""
    cells = math.prod(game.shape)
    tiles = Counter(game.cells_needed.values())  # by the number of cells that they need
    ways = {0: 1}  # of filling so many cells with the tiles that need more cells than `needed`
    for needed in range(cells, 0, -1):
        filled: Counter[int] = Counter()
        for taken, count in ways.items():
            for more in range(cells - needed + 2 - taken):
                chosen = math.comb(cells - taken, more) * tiles[needed] ** more
                filled[taken + more] += count * chosen
        ways = dict(filled)
    return math.ceil(sum(ways.values()) / len(game.symmetries.cells))


def check_size(game: SlidingGame) -> None:
    """Check that the boards of a game can be listed, and fit into memory.

    Raises:
        ValueError: If they cannot, or do not fit.
    """
    boards = most_boards(game)
    what = f"solving {game} (at most {_count(boards)} boards up to symmetry)"

    def advice(available: int) -> str:
        smaller = [
            f"{shape[0]}×{shape[1]}"
            for shape in combinations_with_replacement(range(2, MAX_SIDE + 1), 2)
            if _bytes(game, shape) <= available
        ]
        fitting = f"of a smaller shape, {', '.join(smaller)} would fit"
        return fitting if smaller else "no board of this game would fit"

    check_memory(boards * BYTES_PER_BOARD, what, advice)
    if math.prod(game.shape) > MOST_CELLS:
        raise UsageError(f"{what} is for boards of at most {MOST_CELLS} cells.")


def described(game: SlidingGame) -> str:
    """Return how large a game is at most, as text."""
    boards = most_boards(game)
    size = boards * BYTES_PER_BOARD / 2**20
    return f"{game}: at most {_count(boards)} boards up to symmetry, {size:,.1f} MiB"


def _count(boards: int) -> str:
    return f"{boards:,}" if boards < 10**12 else f"{boards:.1e}"


def _bytes(game: SlidingGame, shape: tuple[int, int]) -> float:
    """Return what the same game takes on a board of another shape."""
    if math.prod(shape) > MOST_CELLS or len(game.start.tiles) > math.prod(shape):
        return math.inf
    return most_boards(replace(game, shape=shape)) * BYTES_PER_BOARD
