"""Boards as the keys of a table: numbered, and symmetric ones merged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.sliding.env import SlidingEnv
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, UP

LARGEST_TABLE = 1 << 30
"""Bytes that a table may take."""


class BoardCodes:
    """Numbers all boards of an environment, and tells how actions look on the board that is stored.

    A tile larger than any that fits shares its number with the largest.

    Attributes:
        size: How many numbers there are.

    Raises:
        ValueError: If a table with an entry for each board and action would be too large.
    """

    def __init__(self, env: Any, merge_symmetric: bool, bytes_per_entry: int) -> None:
        game = env.unwrapped
        shape, n_actions = game.observation_space.shape, game.n_actions
        n_cells = math.prod(shape)
        # In tic-tac-toe -1 is the last value; n cells cannot hold a tile larger than this.
        sliding = isinstance(game, SlidingEnv)
        values = min(game.rules.largest, largest_tile(game)) + 1 if sliding else 3
        self.size = values**n_cells
        needed = self.size * n_actions * bytes_per_entry
        if needed > LARGEST_TABLE:
            raise ValueError(
                f"a table for boards of {shape[0]}×{shape[1]} with {values} values a cell takes "
                f"{needed / 2**30:,.0f} GiB, and {LARGEST_TABLE >> 30} GiB are allowed: "
                "use a smaller shape, such as (2, 3)."
            )
        self._largest = values - 1 if sliding else None
        self._weights = values ** np.arange(n_cells)
        self._values = values
        cells, actions = symmetries(shape, sliding)
        n = len(cells) if merge_symmetric else 1
        self._images, self._actions = cells[:n], actions[:n]

    def of(self, boards: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of boards.

        Args:
            boards: `(n, R, C)`.

        Returns:
            The numbers `(n,)`, and for each action what it is on the board that is stored,
            `(n, actions)`.
        """
        cells = boards.reshape(len(boards), len(self._weights)).astype(np.int64)
        cells = cells % 3 if self._largest is None else np.minimum(cells, self._largest)
        numbers = cells[:, self._images] @ self._weights
        first = numbers.argmin(axis=1)
        return numbers[np.arange(len(cells)), first], self._actions[first]


def largest_tile(game: SlidingEnv) -> int:
    """Return an index that no tile of a board of this size exceeds, or almost never does.

    In 2048 each tile needs a cell beside it to be made of, so n cells end at n - 1 indices above
    the largest tile that appears.  In 2584 a tile is made of its two predecessors, which takes
    about half the cells: on 2×3, index 12 is the largest.
    """
    n_cells = math.prod(game.shape)
    appearing = max(game.law.tiles)
    return n_cells - 1 + appearing if game.rules.name == "2048" else 2 * n_cells - 2 + appearing


def symmetries(shape: tuple[int, ...], sliding: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the symmetries of a board.

    Args:
        shape: Rows and columns.
        sliding: Whether actions are directions; else they are cells.

    Returns:
        `(S, cells)`, the cell that each cell of the image shows; and `(S, actions)`, what each
        action is on the image.  The first symmetry leaves everything in place.
    """
    square = shape[0] == shape[1]
    cells = np.arange(math.prod(shape)).reshape(shape)
    images, directions = [], []
    for transposed in (False, True) if square else (False,):
        for upside_down in (False, True):
            for mirrored in (False, True):
                image = cells.T if transposed else cells
                # Where up, right, down and left go, one change after the other.
                moved = np.array([LEFT, DOWN, RIGHT, UP] if transposed else [UP, RIGHT, DOWN, LEFT])
                if upside_down:
                    image, moved = image[::-1], _swapped(moved, UP, DOWN)
                if mirrored:
                    image, moved = image[:, ::-1], _swapped(moved, LEFT, RIGHT)
                images.append(image.ravel())
                directions.append(moved)
    cell_images = np.array(images)
    return cell_images, np.array(directions) if sliding else np.argsort(cell_images, axis=1)


def _swapped(directions: NDArray[np.int64], one: int, other: int) -> NDArray[np.int64]:
    return np.where(directions == one, other, np.where(directions == other, one, directions))
