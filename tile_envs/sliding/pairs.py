"""What two neighboring tiles do, as tables over both, and the push of lines that is made of it."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.tables import shared
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, UP, Boards, Rules

TILE_BITS = 5
TILES_END = 1 << TILE_BITS


@dataclass(frozen=True, eq=False)
class Pairs:
    """What two neighboring tiles a and b do, looked up by `a << 5 | b`, `(1024,)`."""

    merged: NDArray[np.uint8]  # the tile that they make, a being nearer to the wall; 0 if none
    row_legal: NDArray[np.uint8]  # the actions, as bits, that change a row with b on the right of a
    column_legal: NDArray[np.uint8]  # the actions that change a column with b below a
    faces: NDArray[np.int64]  # `(32,)`, the face of each tile; 0 beyond the largest


@cache
def compile_pairs(rules: Rules) -> Pairs:
    """Compile the pairs of a game, once per process."""
    merged = np.zeros((TILES_END, TILES_END), np.uint8)
    for a, b, c in rules.merges:
        merged[a, b] = c
    faces = np.zeros(TILES_END, np.int64)
    faces[: len(rules.faces)] = rules.faces
    tiles = np.arange(TILES_END) > 0
    to_a = (~tiles[:, None] & tiles | (merged > 0)).ravel()
    to_b = (tiles[:, None] & ~tiles | (merged.T > 0)).ravel()
    row_legal = (to_a << LEFT | to_b << RIGHT).astype(np.uint8)
    column_legal = (to_a << UP | to_b << DOWN).astype(np.uint8)
    return shared(Pairs(merged.ravel(), row_legal, column_legal, faces))


def pair_of(a: Boards, b: Boards) -> NDArray[np.intp]:
    """`a << 5 | b`, as `Pairs` is looked up."""
    pair = a.astype(np.intp)
    pair <<= TILE_BITS
    pair |= b
    return pair


def push_to_low_end(pairs: Pairs, cells: Boards) -> NDArray[np.int64]:
    """Push lines of cells `(length, lines, n)` to index 0, in place; return all rewards `(n,)`.

    [0 1 1 2] slides to [1 1 2 0], then merges from the wall outwards: [2 2 0 0] in 2048.
    """
    length = len(cells)
    for end in range(length - 1, 0, -1):  # let the empty cells bubble to the high end
        for i in range(end):
            moved = cells[i + 1] * (cells[i] == 0)
            cells[i] += moved
            cells[i + 1] -= moved
    rewards = np.zeros(cells.shape[1:], np.int64)
    for i in range(length - 1):  # a merged cell is not visited again
        made = pairs.merged.take(pair_of(cells[i], cells[i + 1]))
        rewards += pairs.faces.take(made)
        apart = made == 0
        cells[i] *= apart
        cells[i] += made
        # After a merge the cells beyond shift by one; `x ^ (x ^ y) * bit` selects y.
        swap = cells[i + 1 : -1] ^ cells[i + 2 :]
        swap *= ~apart
        cells[i + 1 : -1] ^= swap
        cells[-1] *= apart
    total: NDArray[np.int64] = rewards.sum(axis=0)
    return total
