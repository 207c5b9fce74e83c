"""Boards as the keys of a table, numbered, symmetric ones merged; and how its entries learn."""

import math

import numpy as np
from numpy.typing import NDArray

from tile_envs.errors import UsageError
from tile_envs.game import Boards, Game


class BoardCodes:
    """Numbers the boards of a game, and renames actions for the image that is stored.

    A tile larger than any that play can reach has the number of the largest.

    Args:
        game: The game.
        merge_symmetric: Whether boards that are images of each other share a number.

    Attributes:
        size: The number of boards.
        n_values: The number of values of a cell.
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

    def of(self, boards: Boards) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers `(n,)` of boards `(n, R, C)`.

        With them comes the name of each action on the board that is stored, `(n, n_actions)`.
        """
        if boards.shape[1:] != self._shape:
            raise UsageError(f"boards must have shape {self._shape}, got {boards.shape[1:]}.")
        cells = boards.reshape(len(boards), len(self.weights))
        cells = np.minimum(cells, self.n_values - 1) % self.n_values  # the other's mark is -1
        numbers = cells.astype(np.float64) @ self.weights
        first = numbers.argmin(axis=1)
        return numbers[np.arange(len(cells)), first].astype(np.int64), self.actions[first]


def move_entries(
    values: NDArray[np.float64],
    visits: NDArray[np.int64],
    entries: NDArray[np.int64],
    targets: NDArray[np.float64],
    rate: float,
    decay: float,
) -> None:
    """Move entries of a table towards targets, V ← V + α (target - V), and count their visits.

    The table's values and visits, `(size,)`, are changed in place; entries, its indices, and
    targets are `(n,)`.  With the v-th visit of an entry, α is `rate / v**decay`.

    Moving an entry towards k targets, one after the other, with the step size α each, moves it
    towards their mean with the step size `1 - (1 - α)**k`, but for their order.
    """
    entries, which, times = np.unique(entries, return_inverse=True, return_counts=True)
    visits[entries] += times
    alpha = rate / visits[entries] ** decay
    means = np.bincount(which, targets) / times
    values[entries] += (1 - (1 - alpha) ** times) * (means - values[entries])


def turned(
    values: NDArray[np.float64], loss_weight: float, draw: float = 0.0
) -> NDArray[np.float64]:
    """Return what values for one player are worth to the other, to whom a win costs `loss_weight`.

    A draw is worth the same to both, and straight lines lie between.
    """
    gains = values - draw
    slope = (draw + loss_weight) / (1 - draw or 1)
    return draw - np.where(gains > 0, gains * slope, gains / (slope or 1))
