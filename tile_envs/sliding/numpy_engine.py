"""Many sliding games, played by numpy."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.engine import EVERY_GAME, Bools, Floats, Games, Info, Ints, NumpyEngine
from tile_envs.base.random_stream import STRIDE, Words, choose, mix
from tile_envs.game import Positions
from tile_envs.sliding import cells as any_size
from tile_envs.sliding import packed as batch
from tile_envs.sliding import tables
from tile_envs.sliding.boards import MASKS, Boards
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.placer import RANDOM, choose_cells, place
from tile_envs.sliding.rules import ACTIONS, VERTICAL
from tile_envs.sliding.tables import PACKED_SIDE, Lines, packs

# Numbers as 0-d arrays: see `random_stream`.
_STRIDE = np.array(STRIDE, np.uint64)
_CELLS, _CELL_BITS = np.array(tables.CELLS), np.array(tables.CELL_BITS)
_CELL_MASK, _LINE_MASK = np.array(tables.CELL_MASK), np.array(tables.LINE_MASK)
_EMPTY_SHIFT, _EMPTY_MASK = np.array(tables.EMPTY_SHIFT), np.array(tables.EMPTY_MASK)
_REWARD_SHIFT, _REWARD_MASK = np.array(tables.REWARD_SHIFT), np.array(tables.REWARD_MASK)
_LARGEST_SHIFT = np.array(tables.LARGEST_SHIFT)
_PATTERN_WEIGHTS = np.array(tables.PATTERN_WEIGHTS)[:, None]
_PATTERNS = tables.PATTERN_ACTION_WEIGHT * np.arange(len(ACTIONS))
_ALL_TILES = tables.CELL_MASK + 1
_N_ACTIONS, _ONE = np.array(len(ACTIONS)), np.array(1)

_VERTICAL = np.array([-(action in VERTICAL) for action in range(len(ACTIONS))])
"""By action: all ones where columns move, else 0."""

KTH_LEGAL = np.argsort(-MASKS, axis=1, kind="stable").reshape(-1)
"""`(64,)`, by set of legal actions (as bits) times four, plus k: the k-th action of the set."""
N_LEGAL = MASKS.sum(axis=1).astype(np.uint64)
"""`(16,)`, by set of legal actions: how many there are."""


class SlidingEngine(NumpyEngine):
    """Many sliding games; how their boards are held is up to the subclass."""

    game: SlidingGame

    def __init__(self, game: SlidingGame, num_envs: int, *limits: Any) -> None:
        super().__init__(game, num_envs, *limits)
        self._distribution = game.distribution
        self.faces = np.array(game.rules.faces)
        self._games = np.arange(num_envs)
        self.legal = np.zeros(num_envs, np.int64)
        self.scores = np.zeros(num_envs, np.int64)
        self.largest = np.zeros(num_envs, np.int64)

    @abstractmethod
    def _follow(self, actions: Ints, tiles: Ints, words: Words) -> Ints:
        """Go to the next boards, their legal actions and largest tiles; return the rewards.

        `tiles` are the new tiles, 0 where the action is illegal.  If a user's placer fails, nothing
        has changed.
        """

    @abstractmethod
    def _set_boards(self, boards: Boards, games: Games) -> None:
        """Take over boards `(k, R, C)`, and find their legal actions."""

    def _play(self, actions: Ints, frozen: Bools | None) -> tuple[Floats, Bools, Bools]:
        legal = (self.legal >> actions & _ONE).astype(np.bool_)
        if frozen is not None:
            legal &= ~frozen
        streams = self.streams + legal * _STRIDE
        words = mix(streams)
        rewards = self._follow(actions, self._distribution.tiles_of(words) * legal, words)
        self.streams = streams
        self.scores += rewards
        return rewards.astype(np.float64), self.legal == 0, legal

    def _start(self, games: Games, positions: Positions | None) -> None:
        if positions is None:
            boards, self.streams[games] = self.game.start.boards(self.streams[games])
            self.scores[games] = 0
        else:
            boards, scores = (values[games] for values in positions)
            self.scores[games] = scores
        self._set_boards(boards, games)
        self.largest[games] = np.maximum.reduce(boards.reshape(len(boards), -1), axis=1)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the positions of all games as `Game.checked_positions` reads them."""
        return {"board": self.observations(EVERY_GAME), "score": self.scores.copy()}

    def masks(self, games: Games) -> NDArray[np.int8]:
        """Return fresh action masks, `(k, 4) int8`."""
        return MASKS.take(self.legal[games], axis=0)

    def _info(self, games: Games) -> Info:
        return {
            "score": self.scores[games].copy(),
            "max_tile": self.faces.take(self.largest[games]),
        }

    def choose_legal(self, words: Words) -> Ints:
        """Turn a random word for each game into one of its legal actions, or 0 if it has none."""
        k = choose(words, N_LEGAL.take(self.legal)).view(np.int64)
        actions: Ints = KTH_LEGAL.take(k + self.legal * _N_ACTIONS)
        return actions


class PackedEngine(SlidingEngine):
    """Many sliding games on packed boards."""

    def __init__(self, game: SlidingGame, num_envs: int, *limits: Any) -> None:
        super().__init__(game, num_envs, *limits)
        self._tables = game.tables
        self._places_uniformly = game.placer == RANDOM
        self.lines = np.zeros((2, PACKED_SIDE, num_envs), np.int64)
        self._lines_of = _lines_of_tiles(game.shape)

    def _follow(self, actions: Ints, tiles: Ints, words: Words) -> Ints:
        of_rules = self._tables
        rows, columns = self.lines
        # `vertical` is all ones where columns move: bit by bit, x ^ ((x ^ y) & vertical) picks y.
        vertical = _VERTICAL.take(actions)
        lines = rows ^ ((rows ^ columns) & vertical)
        lines += of_rules.offsets.take(actions)
        pushed = of_rules.pushed.take(lines)
        moved = pushed & _LINE_MASK
        after = self.lines
        if self._places_uniformly:
            empty = pushed >> _EMPTY_SHIFT
            empty &= _EMPTY_MASK
            empty *= _PATTERN_WEIGHTS
            pattern = np.add.reduce(empty) + _PATTERNS.take(actions)
            k = choose(words, of_rules.empty_count.take(pattern)).view(np.int64)
            cell = of_rules.empty_cell.take(pattern * _CELLS + k)
            flat = (cell >> _CELL_BITS) * self.num_envs + self._games
            moved.reshape(-1)[flat] += tiles << (cell & _CELL_MASK)
        else:
            after = np.empty_like(self.lines)  # a user's placer can fail: nothing has changed then
        turned = batch.transpose(moved)
        swap = moved ^ turned
        swap &= vertical
        np.bitwise_xor(moved, swap, out=after[0])
        np.bitwise_xor(turned, swap, out=after[1])
        if not self._places_uniformly:
            place(self.game.placer, of_rules, after, tiles, words)
        self.lines = after
        self.legal = batch.legal(of_rules, self.lines)
        self.largest = np.maximum(np.maximum.reduce(pushed) >> _LARGEST_SHIFT, tiles)
        rewards: Ints = np.add.reduce(pushed) >> _REWARD_SHIFT & _REWARD_MASK
        return rewards

    def _start(self, games: Games, positions: Positions | None) -> None:
        if positions is not None or self.game.starts is not None:
            return super()._start(games, positions)
        # Faster than by boards, and games start all the time.
        cells, tiles, self.streams[games] = self.game.start.draws(self.streams[games])
        lines = np.add.reduce(self._lines_of.take(cells * _ALL_TILES + tiles, axis=0))
        self._set_lines(lines.T, games)
        self.scores[games] = 0
        self.largest[games] = np.maximum.reduce(tiles)

    def _set_boards(self, boards: Boards, games: Games) -> None:
        self._set_lines(batch.pack(boards), games)

    def _set_lines(self, lines: Lines, games: Games) -> None:
        self.lines[:, :, games] = lines
        self.legal[games] = batch.legal(self._tables, lines)

    def observations(self, games: Games) -> NDArray[np.uint8]:
        """Return fresh observations, `(k, R, C) uint8`."""
        return batch.unpack(self._tables, self.lines[0][:, games])


class CellsEngine(SlidingEngine):
    """Many sliding games on boards of cells, of any size."""

    def __init__(self, game: SlidingGame, num_envs: int, *limits: Any) -> None:
        super().__init__(game, num_envs, *limits)
        self.boards = np.zeros((num_envs, *game.shape), np.uint8)

    def _follow(self, actions: Ints, tiles: Ints, words: Words) -> Ints:
        pairs, boards = self.game.pairs, np.ascontiguousarray(self.boards.transpose(1, 2, 0))
        boards, rewards = any_size.push(pairs, boards, actions)
        cells = choose_cells(self.game.placer, boards, tiles, words)
        boards.reshape(-1)[cells * self.num_envs + self._games] += tiles.astype(np.uint8)
        self.boards = np.ascontiguousarray(boards.transpose(2, 0, 1))
        self.legal = any_size.legal(pairs, boards)
        self.largest = boards.reshape(-1, self.num_envs).max(axis=0).astype(np.int64)
        return rewards

    def _set_boards(self, boards: Boards, games: Games) -> None:
        self.boards[games] = boards
        self.legal[games] = any_size.legal(self.game.pairs, boards.transpose(1, 2, 0))

    def observations(self, games: Games) -> NDArray[np.uint8]:
        """Return fresh observations, `(k, R, C) uint8`."""
        return np.array(self.boards[games])


def sliding_engine(game: SlidingGame, *settings: Any) -> SlidingEngine:
    """Return the engine for the boards of a game, which takes the settings of a `NumpyEngine`."""
    return (PackedEngine if packs(game.shape) else CellsEngine)(game, *settings)


def _lines_of_tiles(shape: tuple[int, int]) -> Lines:
    """Return the lines of boards with one tile, by `cell * 32 + tile`, `(cells * 32, 4, 2)`."""
    cells = math.prod(shape)
    boards = np.zeros((cells, _ALL_TILES, cells), np.uint8)
    boards[np.arange(cells), :, np.arange(cells)] = np.arange(_ALL_TILES)
    return np.ascontiguousarray(batch.pack(boards.reshape(-1, *shape)).T)
