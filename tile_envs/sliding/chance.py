"""Chance in the sliding games: which tile appears, on which cell, and the board of a new game.

One random word makes a tile appear.  Its low half draws the tile; its high half draws the cell, the
k-th in reading order of those on which it may appear: the empty ones or, for the named adversary,
the *worst* ones, with the lowest value (see the manual of `tile_envs.sliding.Tiles2048Env`).  An
object that a user brings chooses the cell itself, once the tile has been drawn.
"""

import math
import os
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base import random_stream
from tile_envs.base.checks import as_array, checked_cells
from tile_envs.base.random_stream import LOW_HALF, Stream, Words, ahead, choose, mix, pick
from tile_envs.errors import UsageError
from tile_envs.game import Bools, Ints
from tile_envs.sliding.rules import Boards
from tile_envs.words import counted

Starts = str | os.PathLike[str] | ArrayLike
START_OPTIONS = "starts", "start_fraction"  # they say where games begin, and nothing else
START_FRACTION = 0.5
RANDOM, ADVERSARY = "random", "adversary"
NAMED = RANDOM, ADVERSARY  # placers


@dataclass(frozen=True)
class SpawnDistribution:
    """The tile indices that can appear, smallest first, and their probabilities."""

    tiles: tuple[int, ...]
    probabilities: tuple[float, ...]

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Cumulative thresholds of the tiles in [0, 2**32), without the last one's."""
        return random_stream.thresholds(self.probabilities)

    @cached_property
    def arrays(self) -> tuple[Ints, list[Words]]:
        return np.array(self.tiles), [np.array(t, np.uint64) for t in self.thresholds]

    def tile(self, word: int) -> int:
        """Return the tile index that a random word makes appear."""
        return self.tiles[bisect_right(self.thresholds, word & LOW_HALF)]


@dataclass(frozen=True, eq=False)
class Start:
    """The start of a game: tiles on an empty board, each on a cell drawn uniformly.

    If boards are listed, a game's first word decides: if its low half is below the threshold, up to
    2**32, the game begins with the board that its high half picks.
    """

    distribution: SpawnDistribution
    shape: tuple[int, int]
    tiles: tuple[int, ...]  # one entry a tile: its index where it is fixed, 0 where it is drawn
    listed: Boards  # boards that games may begin with, `(m, R, C)`; there may be none
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

    def boards(self, positions: Words) -> tuple[Boards, Words]:
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

    def draws(self, positions: Words) -> tuple[Ints, Ints, Words]:
        """Draw start boards: the cells and tiles on them `(tiles, n)`, and positions afterwards."""
        places = ahead(positions, len(self.tiles))
        words = mix(places)
        fixed, n_cells = np.array(self.tiles)[:, None], math.prod(self.shape)
        spawned, thresholds = self.distribution.arrays
        tiles = np.where(fixed, fixed, spawned.take(pick(words, thresholds)))
        empty = np.arange(n_cells, n_cells - len(fixed), -1, dtype=np.uint64)
        cells = choose(words, empty[:, None]).view(np.int64)
        for i in range(len(cells)):
            # `cells[i]` ranks among the empty cells: [. x . x], rank 1 -> cell 2.  In rising order,
            # each cell that is taken at or before it adds 1.
            for taken in np.sort(cells[:i], axis=0) if i > 1 else cells[:i]:
                cells[i] += cells[i] >= taken
        return cells, tiles, places[-1]


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
            wanted = "a .npy file of boards, or a .npz file with the observations of recorded games"
            message = f"starts must be {wanted}, got {os.fspath(starts)}: {reason}."
            raise UsageError(message) from error
    if boards.ndim != 3 or boards.shape[1:] != shape or not len(boards):
        wanted = f"a list of boards, an array of shape (1, {shape[0]}, {shape[1]}) or longer"
        raise UsageError(f"starts must be {wanted}, got shape {boards.shape}.")
    stuck = np.flatnonzero(~legal_actions(boards).any(axis=1))
    if len(stuck):
        which = f"{counted(len(stuck), 'board')} without any, the first at index {stuck[0]}"
        raise UsageError(f"starts must be boards with legal actions: leave out {which}.")
    return boards.astype(np.uint8)


class Placer(Protocol):
    """Chooses the cells of new tiles."""

    def place(self, boards: Boards, tiles: Ints) -> ArrayLike:
        """Return cells `(n,)`, `row * C + column`, for tiles `(n,)` on afterstates `(n, R, C)`."""


def one_of(cells: Bools, words: Words) -> Ints:
    """Choose one of each set of cells `(R * C, n)`, by the high halves of random words."""
    ranks = cells.astype(np.uint8)
    for before, rank in pairwise(ranks):  # three times as fast as `cumsum`
        rank += before
    k = choose(words, ranks[-1].astype(np.uint64)).astype(np.uint8)
    chosen: Boards = np.add.reduce((ranks[:-1] <= k).view(np.uint8))
    return chosen.astype(np.int64)


def answers(placer: Any, boards: Boards, tiles: Ints) -> Ints:
    """Ask an object for the cells of new tiles, `(n,)`; if there are none, it is not asked."""
    games, cells = np.flatnonzero(tiles), np.zeros(len(tiles), np.int64)
    if len(games):
        asked = boards[games]
        answer = placer.place(asked.copy(), tiles[games])
        empty = asked.reshape(len(games), -1) == 0
        cells[games] = checked_cells(answer, empty, asked, f"the placer {type(placer).__name__}")
    return cells
