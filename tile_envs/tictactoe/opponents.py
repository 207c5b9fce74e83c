"""The other side of the board: named opponents as data, and agents that users bring.

A named opponent is a set of cells for each position, of which it plays one, uniformly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tile_envs.agents import Agent, ask
from tile_envs.errors import UsageError
from tile_envs.tictactoe.positions import CELLS, Ints, solve

NAMED: dict[str, Callable[[], Ints]] = {
    "random": lambda: solve().legal,
    "minimax": lambda: solve().best,
    "minimax_first": lambda: solve().best & -solve().best,  # the lowest bit alone
}


def answers(opponent: Agent, codes: Ints, mark: Ints) -> Ints:
    """Return the cells `(n,)` that an agent plays in positions `(n,)`, with the marks `(n,)`."""
    positions = solve()
    masks = positions.masks[codes]
    replies, _ = ask(opponent, positions.views[mark, codes], masks)
    cells = np.asarray(replies)
    if cells.shape != codes.shape or cells.dtype.kind not in "iu":
        raise UsageError(
            f"the opponent {type(opponent).__name__} must answer {len(codes)} integers, "
            f"got {replies!r}."
        )
    cells = cells.astype(np.int64)
    free = (cells >= 0) & (cells < CELLS)
    free[free] = masks[free, cells[free]]
    if not free.all():
        at = int(np.flatnonzero(~free)[0])
        raise UsageError(
            f"the opponent {type(opponent).__name__} played {cells[at]}, which is not free on "
            f"{positions.marks[codes[at]].tolist()}: let its predict() take action_masks."
        )
    return cells
