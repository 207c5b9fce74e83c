"""A network whose first layer is looked up.

The contents of four neighboring cells are one of few patterns, so the first layer needs no matrix
products: each pattern has a vector of its own.  Every line of four cells and every square of 2×2 is
looked up, and a small network makes a value of the sum of the vectors:

    V(board) = MLP(ReLU(b + Σ over lines and squares p: E[contents of p]))

Lines and squares that a symmetry of the board maps to each other share their vectors, and so do the
contents of one that a symmetry maps to each other: a board and its images have the same value.
With vectors of length 1 and without the MLP, this is the n-tuple network of 17 four-tuples
(Szubert and Jaśkowski, "Temporal difference learning of n-tuple networks for the game 2048", 2014).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from stable_baselines3.common.torch_layers import create_mlp
from torch import Tensor, nn

from baselines.settings import check_memory
from tile_envs.game import Game
from tile_envs.tictactoe import TicTacToe

LENGTH = 4
"""The cells of a line; where a board has fewer in a row or column, all of them."""
MOST_CONTENTS = 2_500_000
"""Contents of all lines and squares.  For no more than these, the largest tiles share a value: in
2584 those from 121393 on, on 4×4."""


class PatternNetwork(nn.Module):
    """Values of boards.

    Args:
        game: The game that is played on them.
        width: The length of the vectors.
        hidden: Widths of the hidden layers after them.
    """

    places: Tensor
    begins: Tensor
    entries: Tensor

    def __init__(self, game: Game, width: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.smallest = -1 if isinstance(game, TicTacToe) else 0
        rows, columns = game.shape
        orbits = _orbits(game)
        self.values = min(game.n_values, int((MOST_CONTENTS / len(orbits)) ** (1 / LENGTH)))
        places, begins, entries = [], [], []
        begin = size = 0
        for images in orbits:
            cells = np.sort(images, axis=1)
            firsts = np.unique(cells, axis=0, return_index=True)[1]
            before = LENGTH - images.shape[1]  # the cell after the last one is always empty
            places.append(
                np.pad(images[firsts], ((0, 0), (before, 0)), constant_values=rows * columns)
            )
            begins.append(np.full(len(firsts), begin))
            entries.append(size + _shared(images[(cells == cells[0]).all(axis=1)], self.values))
            begin += len(entries[-1])
            size = int(entries[-1].max()) + 1
        # Not saved: the game says them.
        for name, parts in (("places", places), ("begins", begins), ("entries", entries)):
            array = np.ascontiguousarray(np.concatenate(parts).T, np.int32)
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        bytes_each = 3 * 4 * size  # with a target network, and the optimizer's sums
        check_memory(
            bytes_each * width,
            f"networks of {size:,} patterns and width {width:,}",
            "give a width of at most {}",
            bytes_each,
        )
        self.vectors = nn.EmbeddingBag(size, width, mode="sum", sparse=True)
        self.bias = nn.Parameter(torch.zeros(width))
        self.layers = nn.Sequential(nn.ReLU(), *create_mlp(width, 1, list(hidden)))
        nn.init.normal_(self.vectors.weight, std=0.1 / len(self.begins) ** 0.5)

    def forward(self, boards: Tensor) -> Tensor:
        """Return the values `(n, 1)` of boards `(n, R, C)`."""
        values: Tensor = self.layers(self.vectors(self.patterns_of(boards)) + self.bias)
        return values

    def patterns_of(self, boards: Tensor) -> Tensor:
        """Return the numbers of the vectors `(n, patterns) int32` of boards `(n, R, C)`."""
        # Each row is a cell of all boards: torch is fastest at copying whole rows.
        cells = (boards.flatten(1).T.int() - self.smallest).clamp(max=self.values - 1)
        cells = nn.functional.pad(cells, (0, 0, 0, 1))
        codes = cells.index_select(0, self.places[0])
        for places in self.places[1:]:
            codes = codes.mul_(self.values).add_(cells.index_select(0, places))
        codes = codes.add_(self.begins[:, None])
        return self.entries.index_select(0, codes.flatten()).view(codes.shape).T.contiguous()


def _orbits(game: Game) -> list[NDArray[np.int64]]:
    """Return arrays `(m, cells)`: a line or a square and all its images under the symmetries."""
    cells = np.arange(game.shape[0] * game.shape[1]).reshape(game.shape)
    sizes = [(1, min(LENGTH, game.shape[1])), (min(LENGTH, game.shape[0]), 1), (2, 2)]
    orbits, seen = [], set()
    for size in sizes:
        if min(np.subtract(game.shape, size)) < 0 or max(size) == 1:
            continue
        for pattern in sliding_window_view(cells, size).reshape(-1, size[0] * size[1]):
            if frozenset(pattern.tolist()) not in seen:
                images = np.unique(game.symmetries.cells[:, pattern], axis=0)
                seen |= set(map(frozenset, images.tolist()))
                orbits.append(images)
    return orbits


def _shared(images: NDArray[np.int64], values: int) -> NDArray[np.int64]:
    """Return the entry of each content of a pattern, `(values ** cells,)`.

    Contents that the symmetries of the pattern map to each other share one.

    Args:
        images: The pattern's cells in the orders `(m, cells)` in which its symmetries show them.
        values: The number of values of a cell.
    """
    order = images[0].argsort()
    permutations = order[np.searchsorted(images[0][order], images)]
    contents = np.indices((values,) * images.shape[1]).reshape(images.shape[1], -1)
    turned = [np.ravel_multi_index(tuple(contents[p]), (values,) * len(p)) for p in permutations]
    shared: NDArray[np.int64] = np.unique(np.min(turned, axis=0), return_inverse=True)[1]
    return shared
