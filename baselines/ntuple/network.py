"""n-tuple networks: the value of a board is a sum of table entries, chosen by the tiles on tuples.

A tuple is a set of cells.  The tiles on them, as the digits of a number, choose an entry of the
tuple's table.  Every tuple looks at the board in all its symmetric orientations with the same table
(Szubert and Jaśkowski, "Temporal difference learning of n-tuple networks for the game 2048", CIG
2014), so that the value of a 4×4 board is a sum of eight entries per tuple:

    V(s) = Σ over tuples i, Σ over orientations g:  table_i[tiles of g(s) on the cells of tuple i]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.settings import check_memory
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.tables import CELL_MASK, check_packs

Weights = NDArray[np.float32]

SETS = {
    "4x6": "012345 456789 012456 45689a",
    "5x6": "012345 456789 89abcd 012456 45689a",
    "8x6": "012456 456789 012345 234569 01259a 345678 134567 01489a",
    "4x5": "01234 45678 01245 45689",
    "5x5": "01234 45678 89abc 01245 45689",
    "5x4": "0123 4567 0145 1256 569a",
    "2x4": "0123 4567",
    "17x4": "0123 4567 0145 1256 569a",
    "2x7": "0123456 456789a",
}
"""Well-known sets for 4×4, cells as hexadecimal digits row by row.  The 17 four-tuples of 2014 are
all rows, columns and squares of the board; symmetric ones share their table here."""

SMALL_SETS = {
    (2, 2): "0123",
    (2, 3): "012345",
    (3, 2): "012345",
    (2, 4): "012345 014567",
    (4, 2): "012345 234567",
    (3, 3): "012345 012346 013467 123456",
    (3, 4): "012345 456789 012456 45689a",
    (4, 3): "012345 345678 013467 34679a",
}
"""The default sets of smaller boards."""

LARGEST = 1 << 32
"""The weights and sums of a stage are numbered in 32 bits."""


@dataclass(frozen=True)
class Network:
    """The shape of an n-tuple network.

    Attributes:
        game: The name of the game.
        shape: Rows and columns of the board.
        tuples: The cells of each tuple, numbered row by row.
        values: The number of values of a cell; larger tiles share the last one.
        stages: Sums of a board's tiles that begin a stage with weights of its own, rising.
    """

    game: str
    shape: tuple[int, int]
    tuples: tuple[tuple[int, ...], ...]
    values: int
    stages: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, game: SlidingGame, tuples: str, values: int | None, stages: Sequence[int]
    ) -> Network:
        """Read a network from the name of a set, or from a list of tuples.

        Args:
            game: The game.
            tuples: A name in `SETS`, tuples such as "0123 4567", or "" for the default set.
            values: The number of values of a cell; None is 16 in games of at most 17 tiles (the
                three largest tiles of 2048 share a value), else 32, or what a small board holds.
            stages: The sums of tiles that begin a stage.
        """
        check_packs(game.shape, "an n-tuple network", "dqn and ppo play every board")
        has_few_tiles = game.rules.largest <= 17  # as in 2048
        if not tuples:
            usual = SETS["8x6" if has_few_tiles else "5x5"]
            tuples = usual if game.shape == (4, 4) else SMALL_SETS[game.shape]
        elif tuples in SETS and game.shape != (4, 4):
            raise UsageError(f"the set {tuples} is one for 4×4, not for {_times(game.shape)}.")
        cells = tuple(_checked_tuple(text, game.shape) for text in SETS.get(tuples, tuples).split())
        if not cells:
            raise UsageError(f"a network has at least one tuple, got {tuples!r}.")
        if values is None:
            values = min(16 if has_few_tiles else 32, game.n_values)
        if not 2 <= values <= CELL_MASK + 1:
            raise UsageError(f"values must be from 2 to {CELL_MASK + 1}, got {values}.")
        begins = tuple(sorted(set(stages)))
        if begins and begins[-1] > (most := math.prod(game.shape) * max(game.rules.faces)):
            raise UsageError(f"stages must be sums of tiles up to {most:,}, got {begins[-1]:,}.")
        return cls(game.name, game.shape, cells, values, begins)

    def __str__(self) -> str:
        """Return everything that decides what an entry means."""
        tuples = " ".join("".join(f"{cell:x}" for cell in cells) for cells in self.tuples)
        stages = "".join(f" stage {tiles}" for tiles in self.stages)
        return f"{self.game} on {_times(self.shape)}, {self.values} values, {tuples}{stages}"

    @property
    def size(self) -> int:
        """The number of entries of one stage."""
        return sum(self.values ** len(cells) for cells in self.tuples)

    @property
    def entries(self) -> int:
        """The number of entries of all stages."""
        return self.size * (1 + len(self.stages))

    @property
    def per_board(self) -> int:
        """The number of entries whose sum is the value of a board."""
        return len(self.tuples) * (8 if self.shape[0] == self.shape[1] else 4)


def new_weights(network: Network, width: int) -> Weights:
    """Return zeros for the entries of a network, of so many numbers each, `(entries * width,)`."""
    if network.size * width > LARGEST:
        raise UsageError(
            f"the network ({network}) has {network.size * width:,} weights and sums in a stage, "
            f"more than the {LARGEST:,} that can be numbered: use shorter tuples."
        )
    check_memory(4 * network.entries * width, f"the network ({network})", "use shorter tuples")
    return np.zeros(network.entries * width, np.float32)


def _checked_tuple(text: str, shape: tuple[int, int]) -> tuple[int, ...]:
    cells = math.prod(shape)
    try:
        chosen = tuple(sorted(int(digit, 16) for digit in text))
    except ValueError:
        raise UsageError(
            f"tuples are cells as hexadecimal digits, such as 012345, or one of the sets "
            f"{', '.join(SETS)}; got {text!r}."
        ) from None
    if len(set(chosen)) < len(chosen) or chosen[-1] >= cells:
        raise UsageError(
            f"the tuple {text!r} must have different cells from 0 to {cells - 1:x} on "
            f"{_times(shape)}."
        )
    return chosen


def _times(shape: tuple[int, int]) -> str:
    return f"{shape[0]}×{shape[1]}"
