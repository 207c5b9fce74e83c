"""Chance in the sliding games: which tile appears, and the board a game starts from.

One random word decides both halves of a new tile: the high half its cell, the k-th empty cell in
reading order, the low half its face.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from tile_envs.checks import as_integer, brief
from tile_envs.random_stream import Stream, Words, ahead, choose, mix
from tile_envs.sliding.rules import Rules

LOW_HALF = 0xFFFFFFFF
_LOW_HALF = np.array(LOW_HALF, np.uint64)


@dataclass(frozen=True)
class SpawnLaw:
    """The law of the new tile.

    Attributes:
        tiles: The tile indices that can appear, smallest first.
        probabilities: Theirs.
    """

    tiles: tuple[int, ...]
    probabilities: tuple[float, ...]

    @classmethod
    def of(cls, rules: Rules, spawn: Mapping[int | str, float] | None) -> SpawnLaw:
        """Read a law from a mapping of face to probability, such as `{2: 0.9, 4: 0.1}`.

        Args:
            rules: The game.
            spawn: Faces may be strings, as JSON has them; None is the game's own law.

        Raises:
            ValueError: If a face is not a tile of the game, a probability is not in [0, 1], or they
                do not add up to 1.
        """
        if spawn is None:
            spawn = dict(rules.spawn)
        if not isinstance(spawn, Mapping) or not spawn:
            raise ValueError(
                f"spawn must map faces to probabilities, such as {dict(rules.spawn)}, "
                f"got {spawn!r}."
            )
        law: dict[int, float] = {}
        for face, probability in spawn.items():
            tile = rules.index_of(_face(face, "spawn"))
            is_number = isinstance(probability, Real) and not isinstance(probability, bool)
            if not is_number or not 0 <= probability <= 1:
                raise ValueError(
                    f"spawn[{face!r}] must be a probability between 0 and 1, got {probability!r}."
                )
            if tile in law:
                raise ValueError(f"spawn names the face {face} twice: {dict(spawn)!r}.")
            law[tile] = float(probability)
        if not math.isclose(sum(law.values()), 1, abs_tol=1e-6):
            raise ValueError(
                f"spawn must add up to 1, got {dict(spawn)!r}, which makes {sum(law.values())}."
            )
        tiles = tuple(sorted(tile for tile in law if law[tile] > 0))
        return cls(tiles, tuple(law[tile] for tile in tiles))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where each tile's share of the range of a half word ends, but for the last one's."""
        return tuple(round(p * (LOW_HALF + 1)) for p in np.cumsum(self.probabilities[:-1]))

    def tile(self, word: int) -> int:
        """Return the tile index that a random word makes appear."""
        return self.tiles[bisect_right(self.ends, word & LOW_HALF)]

    def tiles_of(self, words: Words) -> NDArray[np.int64]:
        """Return the tile index that each random word makes appear."""
        if len(self.tiles) == 1:
            return np.full(words.shape, self.tiles[0])
        low = words & _LOW_HALF
        more = [(low >= end) * step for end, step in self._steps]
        return sum(more, start=np.array(self.tiles[0]))

    @cached_property
    def _steps(self) -> list[tuple[NDArray[np.uint64], np.int64]]:
        """Where the low half of a word passes from a tile to the next, and how far these are."""
        steps = np.diff(self.tiles)
        return [
            (np.array(end, np.uint64), step) for end, step in zip(self.ends, steps, strict=True)
        ]


@dataclass(frozen=True)
class Start:
    """How a game begins: so many tiles on an empty board, each where and as the spawn law says.

    Attributes:
        law: The law of the new tile.
        shape: Rows and columns.
        tiles: One entry a tile: its index where it is fixed, 0 where the law decides.
    """

    law: SpawnLaw
    shape: tuple[int, int]
    tiles: tuple[int, ...]

    @classmethod
    def of(
        cls, rules: Rules, law: SpawnLaw, shape: tuple[int, int], start_tiles: int | Sequence[int]
    ) -> Start:
        """Read the `start_tiles` option: how many tiles, or their faces.

        Raises:
            ValueError: If that is neither, there are none, or more than the board has cells.
        """
        if isinstance(start_tiles, np.ndarray):
            start_tiles = start_tiles.tolist()
        listed = isinstance(start_tiles, Sequence) and not isinstance(start_tiles, (str, bytes))
        count = len(start_tiles) if listed else as_integer(start_tiles)  # type: ignore[arg-type]
        cells = math.prod(shape)
        if count is None or not 1 <= count <= cells:
            raise ValueError(
                f"start_tiles must be 1 to {cells} tiles on a {shape[0]}×{shape[1]} board, "
                f"got {brief(start_tiles)}."
            )
        faces = start_tiles if listed else ()
        fixed = tuple(rules.index_of(_face(face, "start_tiles")) for face in faces)  # type: ignore[union-attr]
        return cls(law, shape, fixed or (0,) * count)

    def board(self, stream: Stream) -> list[int]:
        """Draw one start board, tile indices in reading order."""
        cells = [0] * math.prod(self.shape)
        for fixed in self.tiles:
            word = stream.word()
            empty = [i for i, tile in enumerate(cells) if not tile]
            cells[empty[(word >> 32) * len(empty) >> 32]] = fixed or self.law.tile(word)
        return cells

    def boards(self, positions: Words) -> tuple[NDArray[np.uint8], Words]:
        """Draw many start boards, each as `board` would.

        Args:
            positions: The positions of the games' random streams, `(n,)`.

        Returns:
            The boards `(n, R, C)`, and the positions afterwards.
        """
        n, n_cells = len(positions), math.prod(self.shape)
        places = ahead(positions, len(self.tiles))
        words = mix(places)
        drawn = self.law.tiles_of(words)
        taken = np.empty(words.shape, np.uint64)
        boards = np.zeros((n, n_cells), np.uint8)
        games = np.arange(n)
        for i, (fixed, word) in enumerate(zip(self.tiles, words, strict=True)):
            # Counted among the empty cells only, so it moves on by one for each taken before it.
            cell = choose(word, np.array(n_cells - i, np.uint64))
            for other in np.sort(taken[:i], axis=0) if i > 1 else taken[:i]:
                cell += cell >= other
            taken[i] = cell
            boards[games, cell.view(np.int64)] = fixed or drawn[i]
        return boards.reshape(n, *self.shape), places[-1]


def _face(face: object, name: str) -> int:
    """Read a face, which JSON may have turned into a string."""
    value = int(face) if isinstance(face, str) and face.isdecimal() else as_integer(face)
    if value is None:
        raise ValueError(f"a face in {name} must be an integer, got {face!r}.")
    return value
