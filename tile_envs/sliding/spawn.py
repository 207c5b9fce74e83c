"""Chance in the sliding games: which tile appears, and the board a game starts from.

One random word picks the cell of a new tile by its high half, the k-th in reading order of those on
which it may appear (see `placer`), and the tile by its low half.
"""

import math
import os
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import as_array
from tile_envs.base.random_stream import LOW_HALF, Stream, Words, ahead, choose, mix, pick
from tile_envs.errors import UsageError
from tile_envs.sliding.boards import Boards
from tile_envs.words import counted

Starts = str | os.PathLike[str] | ArrayLike
START_OPTIONS = "starts", "start_fraction"
"""The options that say where games begin, and nothing else about them."""
START_FRACTION = 0.5


@dataclass(frozen=True)
class SpawnDistribution:
    """The tile indices that can appear, smallest first, and their probabilities."""

    tiles: tuple[int, ...]
    probabilities: tuple[float, ...]

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Cumulative thresholds of the tiles in [0, 2**32), without the last one's."""
        return tuple(round(p * (LOW_HALF + 1)) for p in np.cumsum(self.probabilities[:-1]))

    def tile(self, word: int) -> int:
        """Return the tile index that a random word makes appear."""
        return self.tiles[bisect_right(self.thresholds, word & LOW_HALF)]

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], list[Words]]:
        """The tiles `(m,)`, and the thresholds by which `pick` chooses one."""
        return np.array(self.tiles), [np.array(t, np.uint64) for t in self.thresholds]


@dataclass(frozen=True, eq=False)
class Start:
    """The start of a game: tiles on an empty board, each on a cell drawn uniformly.

    Attributes:
        distribution: The distribution of the new tile.
        shape: Rows and columns.
        tiles: One entry a tile: its index where it is fixed, 0 where it is drawn.
        listed: Boards that games may begin with, `(m, R, C)`; there may be none.
        threshold: A game begins with one of them if the low half of its first word is below this,
            up to 2**32; the high half picks it.  Without listed boards there is no such word.
    """

    distribution: SpawnDistribution
    shape: tuple[int, int]
    tiles: tuple[int, ...]
    listed: Boards
    threshold: int

    def board(self, stream: Stream) -> list[int]:
        """Draw one start board, tile indices in reading order."""
        if len(self.listed) and (word := stream.word()) & LOW_HALF < self.threshold:
            return list(self.listed[(word >> 32) * len(self.listed) >> 32].tobytes())
        cells = [0] * math.prod(self.shape)
        for fixed in self.tiles:
            word = stream.word()
            empty = [i for i, tile in enumerate(cells) if not tile]
            cells[empty[(word >> 32) * len(empty) >> 32]] = fixed or self.distribution.tile(word)
        return cells

    def boards(self, positions: Words) -> tuple[NDArray[np.uint8], Words]:
        """Draw start boards `(n, R, C)` from streams at `positions`, and return these moved on."""
        n, n_cells = len(positions), math.prod(self.shape)
        first = ahead(positions, 1)[0] if len(self.listed) else positions
        cells, tiles, after = self.draws(first)
        boards = np.zeros((n, *self.shape), np.uint8)
        boards.reshape(n, n_cells)[np.arange(n), cells] = tiles
        if len(self.listed):
            words = mix(first)
            which = pick(words, [np.array(self.threshold, np.uint64)]) == 0
            numbers = choose(words[which], np.array(len(self.listed), np.uint64))
            boards[which], after[which] = self.listed[numbers], first[which]
        return boards, after

    def draws(self, positions: Words) -> tuple[NDArray[np.int64], NDArray[np.int64], Words]:
        """Draw start boards: the cells and tiles on them `(tiles, n)`, and positions afterwards."""
        places = ahead(positions, len(self.tiles))
        words = mix(places)
        indices, thresholds = self.distribution.arrays
        tiles = indices.take(pick(words, thresholds))
        cells = choose(words, self._empty).view(np.int64)
        for i, fixed in enumerate(self.tiles):
            if fixed:
                tiles[i] = fixed
            # Counted among the empty cells only, so it moves on by one for each taken before it.
            for taken in np.sort(cells[:i], axis=0) if i > 1 else cells[:i]:
                cells[i] += cells[i] >= taken
        return cells, tiles, places[-1]

    @cached_property
    def _empty(self) -> Words:
        """The number of empty cells before each tile, `(tiles, 1)`."""
        n_cells = math.prod(self.shape)
        return np.arange(n_cells, n_cells - len(self.tiles), -1, dtype=np.uint64)[:, None]


def checked_starts(
    starts: Starts, shape: tuple[int, int], legal_actions: Callable[[Boards], NDArray[np.int8]]
) -> Boards:
    """Return the boards `(m, R, C)` that an array or a file holds; see `Tiles2048Env`."""
    boards = as_array(starts)
    if isinstance(starts, str | os.PathLike):
        try:
            with open(starts, "rb") as file:
                loaded = np.load(file, allow_pickle=False)
                boards = loaded if isinstance(loaded, np.ndarray) else loaded["observations"]
        except Exception as error:  # numpy, zipfile and zlib raise a dozen kinds on damaged files
            is_other = "pickle" in str(error)  # as numpy reads any file that is not its own
            reason = "it is neither" if is_other else str(error).partition(". ")[0]
            raise UsageError(
                "starts must be a .npy file of boards, or a .npz file with the observations of "
                f"recorded games, got {os.fspath(starts)}: {reason}."
            ) from error
    if boards.ndim != 3 or boards.shape[1:] != shape or not len(boards):
        raise UsageError(
            f"starts must be a list of boards, an array of shape (1, {shape[0]}, {shape[1]}) or "
            f"longer, got shape {boards.shape}."
        )
    stuck = np.flatnonzero(~legal_actions(boards).any(axis=1))
    if len(stuck):
        raise UsageError(
            f"starts must be boards with legal actions: leave out {counted(len(stuck), 'board')} "
            f"without any, the first at index {stuck[0]}."
        )
    return boards.astype(np.uint8)
