"""A placer of new tiles that minimizes the values of an agent.

The tile has been drawn; the placer chooses its cell.  With V(s') the value of an afterstate, and p
moves of the player to look at, the value of a state s is

    W(s, 1) = max over a (r + V(s')),
    W(s, p) = max over a (r + Σ over tiles  P(tile) · min over empty cells  W(s'', p - 1)),

where action a leads from s to s' with reward r, and the tile on the cell from s' to s''; the max is
0 where no action is legal.  The placer takes the empty cell with the lowest W; ties: the first.
"""

import math
from typing import Any

import numpy as np

from baselines.search.batched_expectimax import BatchedSearch
from tile_envs.agents import check_plays
from tile_envs.base.checks import checked_count
from tile_envs.errors import UsageError
from tile_envs.game import Boards, Floats, Game, Ints
from tile_envs.sliding.game import SlidingGame


class ValuePlacer(BatchedSearch):
    """Places tiles where an agent's values are lowest, as the environments' option `placer`.

        placer = ValuePlacer(agent, game, depth=2)
        envs = gym.make_vec("Tiles2048-v0", 64, placer=placer)

    Args:
        agent: The agent whose values are minimized.
        game: The game; its own placer does not matter.
        depth: The search depth p, in moves of the player, at least 1.
        name: What it is called in results.
    """

    def __init__(self, agent: Any, game: Game, depth: int = 1, name: str = "") -> None:
        if not isinstance(game, SlidingGame) or not hasattr(agent, "action_values"):
            what = f"{type(agent).__name__} and {game}"
            raise UsageError(f"a placer needs action_values in the sliding games, got {what}.")
        check_plays(agent, game)
        super().__init__(agent, game)
        self._depth = checked_count(depth, "depth")
        self._name = f"{name or type(agent).__name__} {depth}-ply"

    def __str__(self) -> str:
        return self._name

    def place(self, boards: Boards, tiles: Ints) -> Ints:
        """Return the cells of tiles `(n,)` on afterstates; see `tile_envs.sliding.chance`."""
        return np.asarray(self.cell_values(boards, tiles, self._depth).argmin(axis=1))

    def cell_values(self, boards: Boards, tiles: Ints | int, depth: int) -> Floats:
        """Return W(s, depth), `(n, R * C)`, with tiles `(n,)` on each cell; infinity on others."""
        flat = boards.reshape(len(boards), math.prod(self._game.shape))
        values = np.full(flat.shape, np.inf)
        parents, cells = np.nonzero(flat == 0)
        states = flat[parents]
        states[np.arange(len(parents)), cells] = np.broadcast_to(tiles, len(flat))[parents]
        values[parents, cells] = self._state_values(states.reshape(-1, *self._game.shape), depth)
        return values

    def _afterstate_values(self, after: Boards, left: int) -> Floats:
        values, spawn = np.zeros(len(after)), self._game.distribution
        for tile, chance in zip(spawn.tiles, spawn.probabilities, strict=True):
            values += chance * self.cell_values(after, tile, left).min(axis=1)
        return values
