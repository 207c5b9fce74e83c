"""Many boards of cells at once, of any size, by numpy: how games begin, and what follows moves.

Inside, the games are the last axis, `(R, C, n)`, so that every operation runs over cells of
neighboring games; so they are in the memory of a state.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.random_stream import Words
from tile_envs.game import Ints
from tile_envs.sliding.chance import RANDOM, Start, answers, one_of
from tile_envs.sliding.pairs import Pairs, compile_pairs, pair_of, push_to_low_end
from tile_envs.sliding.rules import ACTIONS, Boards, Rules

_ACTIONS = np.arange(len(ACTIONS))[:, None]


class CellsLayout:
    """Boards of one game as they are in public, `(n, R, C)`; see `packed.batch.PackedLayout`."""

    loops = "tile_envs.sliding.cells.compiled"

    def __init__(self, rules: Rules, shape: tuple[int, int]) -> None:
        self._pairs = compile_pairs(rules)

    def pack(self, boards: Boards) -> NDArray[Any]:
        return boards

    def tiles(self, boards: Boards) -> Boards:
        return np.array(boards, order="C")

    def legal(self, boards: Boards) -> Ints:
        # A push changes a board if and only if it changes two neighboring cells.
        boards, pairs = boards.transpose(1, 2, 0), self._pairs
        rows = pairs.row_legal.take(pair_of(boards[:, :-1], boards[:, 1:]))
        columns = pairs.column_legal.take(pair_of(boards[:-1], boards[1:]))
        legal = np.bitwise_or.reduce(rows, (0, 1)) | np.bitwise_or.reduce(columns, (0, 1))
        return np.asarray(legal, np.int64)

    def draw(self, start: Start, streams: Words) -> tuple[NDArray[Any], Ints, Words]:
        boards, streams = start.boards(streams)
        return boards, boards.max(axis=(1, 2), initial=0).astype(np.int64), streams

    def follow(
        self, placer: Any, boards: Boards, actions: Ints, drawn: Ints, words: Words
    ) -> tuple[NDArray[Any], Ints, Ints]:
        n = len(actions)
        boards = np.ascontiguousarray(boards.transpose(1, 2, 0))
        boards, rewards = push(self._pairs, boards, actions)
        flat = boards.reshape(math.prod(boards.shape[:2]), n)  # a view
        if placer == RANDOM:
            cells = one_of(flat == 0, words)
        else:
            cells = answers(placer, boards.transpose(2, 0, 1), drawn)
        boards.reshape(-1)[cells * n + np.arange(n)] += drawn.astype(np.uint8)
        largest = flat.max(axis=0).astype(np.int64)
        return boards.transpose(2, 0, 1), rewards, largest

    def afterstates(self, boards: Boards) -> tuple[Boards, Ints, Ints]:
        n, n_actions, cells = len(boards), len(ACTIONS), boards.transpose(1, 2, 0)
        actions = np.tile(np.arange(n_actions), n)
        after, rewards = push(self._pairs, cells.repeat(n_actions, axis=2), actions)
        after = after.transpose(2, 0, 1).reshape(n, n_actions, *boards.shape[1:])
        return after, rewards.reshape(n, n_actions), self.legal(boards)


def push(pairs: Pairs, boards: Boards, actions: Ints) -> tuple[Boards, Ints]:
    """Push boards `(R, C, n)`, each by its own action; return fresh boards and rewards `(n,)`."""
    # Select each game's lines by AND with 0 or 255: twice as fast as one push per action.
    picked = -(actions == _ACTIONS).view(np.uint8)
    side = max(boards.shape[:2])
    lines = np.zeros((side, side, len(actions)), np.uint8)  # those that a shape lacks stay empty
    for of_action, games in zip(_lines(boards), picked, strict=True):
        lines[: len(of_action), : of_action.shape[1]] |= of_action & games
    rewards = push_to_low_end(pairs, lines)
    after = np.zeros(boards.shape, np.uint8)
    for of_action, games in zip(_lines(after), picked, strict=True):
        of_action |= lines[: len(of_action), : of_action.shape[1]] & games
    return after, rewards


def _lines(boards: Boards) -> tuple[Boards, Boards, Boards, Boards]:
    """Return boards `(R, C, n)` as lines `(length, lines, n)`, by action, from the wall on."""
    turned = boards.transpose(1, 0, 2)
    return boards, turned[::-1], boards[::-1], turned  # up, right, down, left
