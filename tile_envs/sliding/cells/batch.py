"""Many boards of cells at once, of any size, by numpy: how games begin, and what follows moves.

Inside, the games are the last axis, `(R, C, n)`, so that every operation runs over cells of
neighboring games; so they are in the memory of a state.  `lookup_of`, `hold`, `legal`, `tiles`,
`draw`, `follow` and `afterstates` are those of `packed.batch`, too: see `boards.held_as`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.random_stream import Words
from tile_envs.base.tables import shared
from tile_envs.game import Ints
from tile_envs.sliding.placer import RANDOM, Placer, answers, one_of
from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, RIGHT, UP, Rules

if TYPE_CHECKING:
    from tile_envs.sliding.spawn import Start

Cells = NDArray[np.uint8]

TILE_BITS = 5
_ALL_TILES = 1 << TILE_BITS
_ACTIONS = np.arange(len(ACTIONS))[:, None]


@dataclass(frozen=True, eq=False)
class Pairs:
    """What two neighboring tiles a and b do, looked up by `a << 5 | b`, `(1024,)`.

    Attributes:
        merged: `uint8`, the tile that they make, a being the nearer one to the wall; 0 if none.
        row_legal: `uint8`, the actions, as bits, that change a row with b on the right of a.
        column_legal: `uint8`, the actions that change a column with b below a.
        faces: `(32,) int64`, the face of each tile; 0 beyond the largest.
    """

    merged: NDArray[np.uint8]
    row_legal: NDArray[np.uint8]
    column_legal: NDArray[np.uint8]
    faces: NDArray[np.int64]


@cache
def compile_pairs(rules: Rules) -> Pairs:
    """Compile the pairs of a game, once per process."""
    merged = np.zeros((_ALL_TILES, _ALL_TILES), np.uint8)
    for a, b, c in rules.merges:
        merged[a, b] = c
    faces = np.zeros(_ALL_TILES, np.int64)
    faces[: len(rules.faces)] = rules.faces
    tiles = np.arange(_ALL_TILES) > 0
    to_a = (~tiles[:, None] & tiles | (merged > 0)).ravel()
    to_b = (tiles[:, None] & ~tiles | (merged.T > 0)).ravel()
    row_legal, column_legal = (
        (to_a << low | to_b << high).astype(np.uint8) for low, high in ((LEFT, RIGHT), (UP, DOWN))
    )
    return shared(Pairs(merged.ravel(), row_legal, column_legal, faces))


def push_to_low_end(pairs: Pairs, cells: Cells) -> NDArray[np.int64]:
    """Push lines of cells `(length, lines, n)` to index 0, in place; return all rewards `(n,)`."""
    length = len(cells)
    for end in range(length - 1, 0, -1):  # let the empty cells bubble to the high end
        for i in range(end):
            moved = cells[i + 1] * (cells[i] == 0)
            cells[i] += moved
            cells[i + 1] -= moved
    rewards = np.zeros(cells.shape[1:], np.int64)
    for i in range(length - 1):  # from the wall on; a merged tile is left behind, so it rests
        made = pairs.merged.take(_pair(cells[i], cells[i + 1]))
        rewards += pairs.faces.take(made)
        apart = made == 0
        cells[i] *= apart
        cells[i] += made
        # Where two have merged, those beyond move on by one: x ^ ((x ^ y) * bit) picks y.
        swap = cells[i + 1 : -1] ^ cells[i + 2 :]
        swap *= ~apart
        cells[i + 1 : -1] ^= swap
        cells[-1] *= apart
    total: NDArray[np.int64] = rewards.sum(axis=0)
    return total


def push(pairs: Pairs, boards: Cells, actions: Ints) -> tuple[Cells, Ints]:
    """Push boards `(R, C, n)`, each by its own action; return fresh boards and rewards `(n,)`."""
    # All games are pushed at once, their lines picked bit by bit; those that a shape lacks are
    # empty.  It takes half of the time of pushing the games of each action.
    picked = -(actions == _ACTIONS).view(np.uint8)
    side = max(boards.shape[:2])
    lines = np.zeros((side, side, len(actions)), np.uint8)
    for of_action, games in zip(_lines(boards), picked, strict=True):
        lines[: len(of_action), : of_action.shape[1]] |= of_action & games
    rewards = push_to_low_end(pairs, lines)
    after = np.zeros(boards.shape, np.uint8)
    for of_action, games in zip(_lines(after), picked, strict=True):
        of_action |= lines[: len(of_action), : of_action.shape[1]] & games
    return after, rewards


def _lines(boards: Cells) -> tuple[Cells, Cells, Cells, Cells]:
    """Return boards `(R, C, n)` as lines `(length, lines, n)`, by action, from the wall on."""
    turned = boards.transpose(1, 0, 2)
    return boards, turned[::-1], boards[::-1], turned  # up, right, down, left


def afterstates(pairs: Pairs, boards: Cells) -> tuple[Cells, NDArray[np.int64], NDArray[np.intp]]:
    n, n_actions, cells = len(boards), len(ACTIONS), boards.transpose(1, 2, 0)
    actions = np.tile(np.arange(n_actions), n)
    after, rewards = push(pairs, cells.repeat(n_actions, axis=2), actions)
    every_action = after.transpose(2, 0, 1).reshape(n, n_actions, *boards.shape[1:])
    return every_action, rewards.reshape(n, n_actions), legal(pairs, boards)


def _pair(a: Cells, b: Cells) -> NDArray[np.intp]:
    index = a.astype(np.intp)
    index <<= TILE_BITS
    index |= b
    return index


def lookup_of(rules: Rules, shape: tuple[int, int]) -> Pairs:
    return compile_pairs(rules)


def hold(boards: Cells) -> Cells:
    return boards


def legal(pairs: Pairs, boards: Cells) -> Ints:
    # A push changes a board if and only if it changes two neighboring cells.
    boards = boards.transpose(1, 2, 0)
    actions = np.zeros(boards.shape[2], np.int64)
    for of_pair, a, b in (
        (pairs.row_legal, boards[:, :-1], boards[:, 1:]),
        (pairs.column_legal, boards[:-1], boards[1:]),
    ):
        actions |= np.bitwise_or.reduce(of_pair.take(_pair(a, b)), axis=(0, 1))
    return actions


def tiles(pairs: Pairs, held: Cells) -> Cells:
    return np.array(held, order="C")


def draw(start: Start, streams: Words) -> tuple[Cells, Ints, Words]:
    boards, streams = start.boards(streams)
    return boards, boards.max(axis=(1, 2), initial=0).astype(np.int64), streams


def follow(
    pairs: Pairs, placer: Any, held: Cells, actions: Ints, drawn: Ints, words: Words
) -> tuple[Cells, Ints, Ints]:
    n = len(actions)
    boards = np.ascontiguousarray(held.transpose(1, 2, 0))
    boards, rewards = push(pairs, boards, actions)
    cells = choose_cells(placer, boards, drawn, words)
    boards.reshape(-1)[cells * n + np.arange(n)] += drawn.astype(np.uint8)
    largest = boards.reshape(math.prod(boards.shape[:2]), n).max(axis=0).astype(np.int64)
    return boards.transpose(2, 0, 1), rewards, largest


def choose_cells(placer: str | Placer, boards: Cells, tiles: Ints, words: Words) -> Ints:
    """Choose the cells `(n,)` of new tiles on afterstates `(R, C, n)`, as a placer decides."""
    if placer == RANDOM:
        return one_of((boards == 0).reshape(math.prod(boards.shape[:2]), len(tiles)), words)
    return answers(placer, boards.transpose(2, 0, 1), tiles)
