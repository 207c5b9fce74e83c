"""Boards as the keys of a table, numbered, symmetric ones merged; and how its entries learn."""

import math

import numpy as np

from tile_envs.errors import UsageError
from tile_envs.game import Boards, Floats, Game, Ints


class BoardCodes:
    """Numbers the boards of a game, and renames actions for the image that is stored.

    A tile larger than any that play can reach has the number of the largest.  Boards that are
    images of each other share a number if `merge_symmetric`.

    Attributes:
        size, n_values: The numbers of boards, and of values of a cell.
        weights: `(cells, images) float64`, the weight of each cell in the number of an image.
            Numbers are below 2^53: floats hold them exactly, and multiply faster.
        actions: `(images, n_actions) int64`, what each action is called on an image.
    """

    def __init__(self, game: Game, merge_symmetric: bool) -> None:
        self._shape, self.n_values = game.shape, game.n_values
        n_cells = math.prod(game.shape)
        self.size = self.n_values**n_cells
        n = len(game.symmetries.cells) if merge_symmetric else 1
        self.actions = game.symmetries.actions[:n]
        self.weights = np.zeros((n_cells, n))
        for image, cells in enumerate(game.symmetries.cells[:n]):
            self.weights[cells, image] = self.n_values ** np.arange(n_cells)

    def of(self, boards: Boards) -> tuple[Ints, Ints]:
        """Return the numbers `(n,)` of boards, and their actions' names there `(n, n_actions)`."""
        if boards.shape[1:] != self._shape:
            raise UsageError(f"boards must have shape {self._shape}, got {boards.shape[1:]}.")
        cells = boards.reshape(len(boards), len(self.weights))
        cells = np.minimum(cells, self.n_values - 1) % self.n_values  # the other's mark is -1
        numbers = cells.astype(np.float64) @ self.weights
        first = numbers.argmin(axis=1)
        return numbers[np.arange(len(cells)), first].astype(np.int64), self.actions[first]


def move_entries(
    values: Floats, visits: Ints, entries: Ints, targets: Floats, rate: float, decay: float
) -> None:
    """Move entries of a table towards targets, V ← V + α (target - V), and count their visits.

    Values and visits `(size,)` are changed in place; entries, indices, and targets are `(n,)`.
    With the v-th visit of an entry, α is `rate / v**decay`.  Moving an entry towards k targets, one
    after the other, with the step size α each, moves it towards their mean with the step size
    `1 - (1 - α)**k`, but for their order.
    """
    entries, which, times = np.unique(entries, return_inverse=True, return_counts=True)
    visits[entries] += times
    alpha = rate / visits[entries] ** decay
    means = np.bincount(which, targets) / times
    values[entries] += (1 - (1 - alpha) ** times) * (means - values[entries])


def from_opponent(values: Floats, loss_weight: float, draw: float = 0.0) -> Floats:
    """Return what values for one player are worth to the other; linear on each side of a draw."""
    gains = values - draw
    slope = (draw + loss_weight) / (1 - draw or 1)
    return draw - np.where(gains > 0, gains * slope, gains / (slope or 1))
