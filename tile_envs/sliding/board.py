"""One board, as the single environments play it."""

import math
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.env import Board
from tile_envs.base.random_stream import Stream
from tile_envs.base.sets import masks
from tile_envs.game import Positions
from tile_envs.sliding.chance import RANDOM
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed import tables
from tile_envs.sliding.packed.batch import PackedLayout
from tile_envs.sliding.packed.tables import CELL_BITS, CELLS, LINE_MASK, PACKED_SIDE
from tile_envs.sliding.pairs import TILE_BITS
from tile_envs.sliding.rules import LEFT, UP, VERTICAL

_CELL_MASK, _TWO_CELLS = tables.CELL_MASK, 2 * CELL_BITS
_LOW_BLOCK, _EVEN_CELLS = tables.LOW_BLOCK, tables.EVEN_CELLS
_EMPTY_SHIFT, _EMPTY_MASK = tables.EMPTY_SHIFT, tables.EMPTY_MASK
_REWARD_SHIFT, _REWARD_MASK = tables.REWARD_SHIFT, tables.REWARD_MASK
_LARGEST_SHIFT = tables.LARGEST_SHIFT
_ACTION, (_, _SECOND, _THIRD, _FOURTH) = tables.PATTERN_ACTION_WEIGHT, tables.PATTERN_WEIGHTS


class SlidingBoard(Board):
    """A board, of which subclasses hold the tiles."""

    largest: int  # the index of the largest tile
    score: int

    def __init__(self, game: SlidingGame) -> None:
        super().__init__(game)
        self._masks, self._faces = list(masks(game.n_actions)), game.rules.faces
        self._distribution = game.distribution
        self._places_uniformly = game.placer == RANDOM
        self._last_tile = game.last_tile

    def begin(self, stream: Stream, position: Positions | None) -> None:
        given = position and (position[0].ravel().tolist(), int(position[1][0]))
        cells, self.score = given or (self.game.start.board(stream), 0)
        self.set(cells)

    def set(self, cells: Sequence[int]) -> None:
        """Set all tiles, given in reading order."""
        raise NotImplementedError

    def _play_by_arrays(self, action: int, stream: Stream) -> int:
        """Play as many games do, where a placer other than chance sets the tile."""
        word = stream.peek()  # drawn below, once the placer has answered
        layout, lines = self.game.layout, self.game.layout.pack(self.observation()[None])
        drawn = np.array([self._distribution.tile(word)]), np.array([word], np.uint64)
        after, rewards, _ = layout.follow(self.game.placer, lines, np.array([action]), *drawn)
        stream.word()
        self.set(layout.tiles(after).ravel().tolist())
        reward = int(rewards[0])
        self.score += reward
        return reward

    def info(self) -> dict[str, Any]:
        return {
            "action_mask": self._masks[self.legal].copy(),
            "score": self.score,
            "max_tile": self._faces[self.largest],
        }

    def position(self) -> dict[str, Any]:
        return {"board": self.observation(), "score": self.score}


def board_of(game: SlidingGame) -> SlidingBoard:
    """Return an empty board of a game."""
    board = PackedBoard(game) if isinstance(game.layout, PackedLayout) else CellsBoard(game)
    board.set([0] * math.prod(game.shape))
    board.score = 0
    return board


class PackedBoard(SlidingBoard):
    """A packed board: its rows and its columns."""

    changing = "legal", "largest", "score", "_rows", "_columns"
    _rows: Sequence[int]
    _columns: Sequence[int]

    def __init__(self, game: SlidingGame) -> None:
        super().__init__(game)
        lookup = game.tables
        self._offsets, self._pushed = lookup.offsets.tolist(), lookup.pushed.data
        self._row_legal, self._column_legal = lookup.row_legal.data, lookup.column_legal.data
        self._empty_count, self._empty_cell = lookup.empty_count.data, lookup.empty_cell.data
        self._cells = lookup.cells.data
        # An observation is put together here, a row at a time, and copied.
        stage = np.zeros(PACKED_SIDE, np.uint32)
        self._stage = stage.data
        n_rows, n_columns = game.shape
        self._staged = stage.view(np.uint8).reshape(PACKED_SIDE, PACKED_SIDE)[:n_rows, :n_columns]

    def set(self, cells: Sequence[int]) -> None:
        rows = [0] * PACKED_SIDE
        for i, tile in enumerate(cells):
            row, column = divmod(i, self.game.shape[1])
            rows[row] |= tile << CELL_BITS * column
        self._set_lines(rows, False, max(cells))

    def play(self, action: int, stream: Stream) -> int:
        if not self._places_uniformly:
            return self._play_by_arrays(action, stream)
        table, offset = self._pushed, self._offsets[action]
        vertical = action in VERTICAL
        a, b, c, d = self._columns if vertical else self._rows
        a, b, c, d = table[offset + a], table[offset + b], table[offset + c], table[offset + d]
        reward: int = a + b + c + d >> _REWARD_SHIFT & _REWARD_MASK
        largest = max(a, b, c, d) >> _LARGEST_SHIFT

        lines = [a & LINE_MASK, b & LINE_MASK, c & LINE_MASK, d & LINE_MASK]
        word = stream.word()
        tile = self._distribution.tile(word)
        pattern = (
            action * _ACTION
            + (a >> _EMPTY_SHIFT & _EMPTY_MASK)
            + (b >> _EMPTY_SHIFT & _EMPTY_MASK) * _SECOND
            + (c >> _EMPTY_SHIFT & _EMPTY_MASK) * _THIRD
            + (d >> _EMPTY_SHIFT & _EMPTY_MASK) * _FOURTH
        )
        k = (word >> 32) * self._empty_count[pattern] >> 32
        cell = self._empty_cell[pattern * CELLS + k]
        lines[cell >> CELL_BITS] |= tile << (cell & _CELL_MASK)
        self._set_lines(lines, vertical, tile if tile > largest else largest)
        self.score += reward
        return reward

    def _set_lines(self, lines: Sequence[int], vertical: bool, largest: int) -> None:
        """Take over a board, given as its columns or its rows, and find its legal actions."""
        a, b, c, d = lines
        # Turned as by `packed.transpose`.
        swap = (a >> _TWO_CELLS ^ c) & _LOW_BLOCK
        e, g = a ^ swap << _TWO_CELLS, c ^ swap
        swap = (b >> _TWO_CELLS ^ d) & _LOW_BLOCK
        f, h = b ^ swap << _TWO_CELLS, d ^ swap
        swap = (e >> CELL_BITS ^ f) & _EVEN_CELLS
        e, f = e ^ swap << CELL_BITS, f ^ swap
        swap = (g >> CELL_BITS ^ h) & _EVEN_CELLS
        g, h = g ^ swap << CELL_BITS, h ^ swap
        if vertical:
            self._rows, self._columns = (e, f, g, h), lines
            of_lines, of_turned = self._column_legal, self._row_legal
        else:
            self._rows, self._columns = lines, (e, f, g, h)
            of_lines, of_turned = self._row_legal, self._column_legal
        self.legal = (
            of_lines[a] | of_lines[b] | of_lines[c] | of_lines[d]
            | of_turned[e] | of_turned[f] | of_turned[g] | of_turned[h]
        ) if largest < self._last_tile else 0  # fmt: skip
        self.largest = largest

    def observation(self) -> NDArray[np.uint8]:
        cells, stage = self._cells, self._stage
        a, b, c, d = self._rows
        stage[0], stage[1], stage[2], stage[3] = cells[a], cells[b], cells[c], cells[d]
        return self._staged.copy()


class CellsBoard(SlidingBoard):
    """A board of cells, of any size, in reading order."""

    changing = "legal", "largest", "score", "_cells"

    def __init__(self, game: SlidingGame) -> None:
        super().__init__(game)
        pairs = game.pairs
        self._merged = pairs.merged.data
        places = np.arange(math.prod(game.shape)).reshape(game.shape)
        self._rows, self._columns = places.tolist(), places.T.tolist()
        of_lines = (self._rows, pairs.row_legal.data), (self._columns, pairs.column_legal.data)
        self._pairs = [
            (i, j, legal) for lines, legal in of_lines for line in lines for i, j in pairwise(line)
        ]

    def set(self, cells: Sequence[int]) -> None:
        self._cells = cells
        self.largest = max(cells)
        self.legal = 0
        for i, j, of_pair in self._pairs if self.largest < self._last_tile else ():
            self.legal |= of_pair[cells[i] << TILE_BITS | cells[j]]

    def play(self, action: int, stream: Stream) -> int:
        if not self._places_uniformly:
            return self._play_by_arrays(action, stream)
        cells, faces = list(self._cells), self.game.rules.faces
        reward = 0
        for line in self._columns if action in VERTICAL else self._rows:
            places = line if action in (UP, LEFT) else line[::-1]
            pushed: list[int] = []
            last = 0  # the tile that may still merge
            for tile in filter(None, map(cells.__getitem__, places)):
                made = self._merged[last << TILE_BITS | tile]
                if made:
                    reward += faces[made]
                    pushed[-1], last = made, 0
                else:
                    pushed.append(tile)
                    last = tile
            for cell, tile in zip_longest(places, pushed, fillvalue=0):
                cells[cell] = tile
        word, empty = stream.word(), [cell for cell, tile in enumerate(cells) if not tile]
        cells[empty[(word >> 32) * len(empty) >> 32]] = self._distribution.tile(word)
        self.set(cells)
        self.score += reward
        return reward

    def observation(self) -> NDArray[np.uint8]:
        return np.array(self._cells, np.uint8).reshape(self.game.shape)
