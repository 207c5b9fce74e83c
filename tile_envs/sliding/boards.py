"""Batched boards in public, `(n, R, C) uint8` tile indices: checks, legal moves, afterstates."""

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import as_array
from tile_envs.base.sets import masks
from tile_envs.errors import UsageError
from tile_envs.game import Ints
from tile_envs.sliding.cells.batch import CellsLayout
from tile_envs.sliding.packed.batch import PackedLayout
from tile_envs.sliding.packed.tables import packs
from tile_envs.sliding.rules import ACTIONS, MAX_SIDE, MIN_CELLS, Boards, Rules, is_board

MASKS = masks(len(ACTIONS))


@cache
def layout_of(rules: Rules, shape: tuple[int, int]) -> PackedLayout | CellsLayout:
    """Return how boards of a game and shape lie in memory and move, made once per process."""
    return PackedLayout(rules, shape) if packs(shape) else CellsLayout(rules, shape)


def legal_actions(boards: ArrayLike, rules: Rules) -> NDArray[np.int8]:
    """Return the action masks `(n, 4) int8` of boards `(n, R, C)`, or raise a `ValueError`.

    They are 1 where the action (0 up, 1 right, 2 down, 3 left) changes the board.
    """
    boards = checked_boards(boards, rules)
    layout = layout_of(rules, boards.shape[1:])
    return MASKS[layout.legal(layout.pack(boards))]


def afterstates(boards: ArrayLike, rules: Rules) -> tuple[Boards, Ints, NDArray[np.int8]]:
    """Return what actions make of boards `(n, R, C)`, before the new tile, or raise a `ValueError`.

    Returns:
        The afterstates `(n, 4, R, C) uint8` (an illegal action leaves the board as it is), the
        rewards `(n, 4) int64`, and the action masks `(n, 4) int8`.
    """
    boards = checked_boards(boards, rules)
    after, rewards, legal = layout_of(rules, boards.shape[1:]).afterstates(boards)
    return after, rewards, MASKS[legal]


def checked_boards(boards: ArrayLike, rules: Rules) -> Boards:
    """Return boards `(n, R, C)` of any integers, if the game has such tiles, as `uint8`."""
    array = as_array(boards)
    if array.ndim != 3 or not is_board(array.shape[1:]):
        sides = f"R and C 1 to {MAX_SIDE}, with {MIN_CELLS} cells or more"
        raise UsageError(f"boards must have shape (n, R, C), {sides}, got {array.shape}.")
    return checked_tiles(array, rules)


def checked_tiles(tiles: ArrayLike, rules: Rules) -> Boards:
    """Return tile indices of any shape and integers, if the game has such tiles, as `uint8`."""
    array = as_array(tiles)
    if array.dtype.kind not in "iu":
        raise UsageError(f"boards must be integers (tile indices), got dtype {array.dtype}.")
    if array.size and not 0 <= array.min() <= array.max() <= rules.largest:
        raise UsageError(
            f"boards of {rules.name} hold tile indices 0 to {rules.largest}, not faces, "
            f"got {array.min()} to {array.max()}: game.indices(faces) returns them."
        )
    return array.astype(np.uint8)
