"""Tic-tac-toe solved: everything there is to know of each position, looked up by its code.

A position's *code* has one digit to the base 3 for each cell, row by row, the first one lowest:
0 empty, 1 X, 2 O.  Sets of cells are bits; see `tile_envs.base.sets`.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import as_array
from tile_envs.base.tables import read_only
from tile_envs.errors import UsageError

Ints = NDArray[np.int64]

SIDE, CELLS = 3, 9
CELL_NAMES = tuple(map(str, range(CELLS)))  # what free cells show, and the keys that play them
X, O = 1, -1  # noqa: E741
WINNING_LINES = (
    *((0, 1, 2), (3, 4, 5), (6, 7, 8)),
    *((0, 3, 6), (1, 4, 7), (2, 5, 8)),
    *((0, 4, 8), (2, 4, 6)),
)
POWERS = 3 ** np.arange(CELLS)
DIGITS = {X: 1, O: 2}
PLAYED = {"X": (X,), "O": (O,), "random": (X, O), "both": (X, O)}  # by side, the agent's marks


class Positions(NamedTuple):
    """The 3**9 positions, by code, reachable in play or not."""

    marks: NDArray[np.int8]  # `(19683, 3, 3)`, 1 X, -1 O, 0 empty
    views: NDArray[np.int8]  # `(3, 19683, 3, 3)`, as side 1 or -1, the first index, sees them
    winner: Ints  # 1 X, -1 O, 0 nobody
    over: NDArray[np.bool_]  # whether somebody has won or the board is full
    to_move: Ints  # 1 X, -1 O; X whenever neither has set more marks
    legal: Ints  # the set of cells that can be played: none once the game is over
    masks: NDArray[np.int8]  # `(19683, 9)`, the same as an action mask
    children: Ints  # `(19683, 9)`, what each cell leads to; illegal ones to the same position
    reachable: NDArray[np.bool_]  # whether play can lead there
    seen: NDArray[np.bool_]  # whether play can lead there with X and O exchanged or not
    value: Ints  # the result for X when both play perfectly
    best: Ints  # the set of cells that keep that value


@cache
def solve() -> Positions:
    """Compute all positions, once per process (20 ms, 3 MiB)."""
    codes, bits = np.arange(3**CELLS), 1 << np.arange(CELLS)
    digits = codes[:, None] // POWERS % 3
    marks = np.array([0, X, O], np.int8)[digits]
    lines = marks[:, WINNING_LINES].sum(axis=2)
    winner = (lines == 3).any(axis=1).astype(np.int64) - (lines == -3).any(axis=1)
    over = (winner != 0) | (digits > 0).all(axis=1)
    to_move = np.where(marks.sum(axis=1) == 0, X, O)
    playable = (digits == 0) & ~over[:, None]

    digit = np.where(to_move == X, DIGITS[X], DIGITS[O])
    children = codes[:, None] + POWERS * digit[:, None] * playable
    n_marks = (digits > 0).sum(axis=1)
    layers = [np.flatnonzero((n_marks == n) & ~over) for n in range(CELLS)]
    reachable = codes == 0
    for layer in layers:
        layer = layer[reachable[layer]]
        reachable[children[layer][playable[layer]]] = True
    value, best = winner.copy(), np.zeros_like(codes)
    for layer in reversed(layers):
        mover = to_move[layer, None]
        # From the mover's point of view; a cell that cannot be played is worse than any loss.
        outcomes = np.where(playable[layer], value[children[layer]] * mover, -2)
        optimum = outcomes.max(axis=1, keepdims=True)
        value[layer] = (optimum * mover)[:, 0]
        best[layer] = (outcomes == optimum) @ bits

    marks = marks.reshape(-1, SIDE, SIDE)
    views, seen = np.stack([marks * 0, marks, -marks]), reachable | reachable[encode(-marks)]
    legal, masks = playable @ bits, playable.astype(np.int8)
    looks = marks, views, winner, over, to_move, legal, masks
    return Positions(*map(read_only, (*looks, children, reachable, seen, value, best)))


def encode(marks: ArrayLike) -> Ints:
    """Return the codes `(...)` of marks `(..., 3, 3)`: 1 X, -1 O, 0 empty."""
    cells = np.asarray(marks).reshape(*np.shape(marks)[:-2], CELLS)
    return np.asarray(cells % 3 @ POWERS)


def encode_seen(observations: ArrayLike) -> Ints:
    """Return the codes `(n,)` of positions `(n, 3, 3)` as the player to move sees them."""
    boards = checked_marks(observations)
    # X is to move where neither side has set more marks.
    marks = np.where(boards.sum(axis=(1, 2)) == 0, X, O)
    return possible(encode(boards * marks[:, None, None]))


def possible(codes: Ints) -> Ints:
    """Return codes `(n,)` of positions as either side sees them, if play can lead to all."""
    for lost in codes[~solve().seen[codes]][:1]:
        wanted = "without two winners and with as many own marks as others or one more or less"
        found = solve().marks[lost].tolist()
        raise UsageError(f"boards must be what play can lead to, {wanted}, got {found}.")
    return codes


def legal_actions(observations: ArrayLike) -> NDArray[np.int8]:
    """Return the action masks `(n, 9) int8` of positions `(n, 3, 3)` as either side sees them.

    A `ValueError` refuses other boards.
    """
    return solve().masks[possible(encode(checked_marks(observations)))]


def afterstates(observations: ArrayLike) -> tuple[NDArray[np.int8], Ints, NDArray[np.int8]]:
    """Return what each action makes of positions `(n, 3, 3)` as the player to move sees them.

    These are the afterstates `(n, 9, 3, 3) int8`, as the same player sees them (an illegal action
    leaves the board as it is), the rewards `(n, 9) int64`, 1 where the action wins, and the action
    masks `(n, 9) int8`.  A `ValueError` refuses other boards.
    """
    codes = possible(encode(checked_marks(observations)))
    masks = solve().masks[codes]
    after = codes[:, None] + POWERS * masks
    return solve().marks[after], solve().winner[after] * masks, masks


def checked_marks(boards: ArrayLike) -> NDArray[np.int8]:
    """Return boards `(n, 3, 3)` of the integers 1, -1 and 0 as `int8`."""
    array = as_array(boards)
    if array.ndim != 3 or array.shape[1:] != (SIDE, SIDE):
        raise UsageError(f"boards must have shape (n, {SIDE}, {SIDE}), got {array.shape}.")
    if array.dtype.kind not in "iu" or not np.isin(array, (0, X, O)).all():
        found = f"dtype {array.dtype} with values {np.unique(array)[:6].tolist()}"
        raise UsageError(f"boards must hold the integers 1, -1 and 0, got {found}.")
    return array.astype(np.int8)
