"""The other side of the board: named opponents as data, and agents that users bring.

A named opponent is a set of cells for each position, of which it plays one, uniformly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tile_envs.agents import Agent, ask
from tile_envs.base.checks import checked_cells
from tile_envs.tictactoe.positions import Ints, solve

NAMED: dict[str, Callable[[], Ints]] = {
    "random": lambda: solve().legal,
    "minimax": lambda: solve().best,
    "minimax_first": lambda: solve().best & -solve().best,  # the lowest bit alone
}


def answers(opponent: Agent, codes: Ints, mark: Ints) -> Ints:
    """Return the cells `(n,)` that an agent plays in positions `(n,)`, with the marks `(n,)`."""
    tables = solve()
    masks = tables.masks[codes].view(np.bool_)
    replies, _ = ask(opponent, tables.views[mark, codes], masks)
    who = f"the opponent {type(opponent).__name__} (its predict() may take action_masks)"
    return checked_cells(replies, masks, tables.marks[codes], who)
