"""Many boards of cells at once, of any size, by numpy: how games begin, and what follows moves.

Inside, the games are the last axis, `(R, C, n)`, so that every operation runs over cells of
neighboring games; so they are in the memory of a state.  `lookup_of`, `hold`, `legal`, `tiles`,
`draw`, `follow` and `afterstates` are those of `packed.batch`, too: see `boards.held_as`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.random_stream import Words
from tile_envs.game import Ints
from tile_envs.sliding.chance import RANDOM, Placer, Start, answers, one_of
from tile_envs.sliding.pairs import Cells, Pairs, compile_pairs, pair_of, push_to_low_end
from tile_envs.sliding.rules import ACTIONS, Rules

_ACTIONS = np.arange(len(ACTIONS))[:, None]


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
        actions |= np.bitwise_or.reduce(of_pair.take(pair_of(a, b)), axis=(0, 1))
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
