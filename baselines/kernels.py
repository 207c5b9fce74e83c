"""Primitives for compiled loops over the package's own tables, shared by learners and search.

A board is four packed lines a, b, c, d (see `tile_envs.sliding.tables`), its rows or its columns.
All words are `uint64`: numba would turn a mix with signed integers into floats, and it guards every
signed index against being negative.

This module imports numba, which takes a second; nothing is compiled before its first call, and
compiled code is kept on disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from baselines.agent import Observations
from tile_envs import random_stream
from tile_envs.random_stream import STRIDE, Words
from tile_envs.sliding import spawn, tables
from tile_envs.sliding.boards import checked_boards, pack
from tile_envs.sliding.env import SlidingEnv
from tile_envs.sliding.rules import LEFT, UP
from tile_envs.sliding.tables import (
    CELL_BITS,
    CELL_MASK,
    CELLS,
    HOLES_MASK,
    HOLES_SHIFT,
    LARGEST_SHIFT,
    LINE_MASK,
    PATTERN_ACTION_WEIGHT,
    PATTERN_WEIGHTS,
    REWARD_MASK,
    REWARD_SHIFT,
)

Word = np.uint64
Lines = tuple[Word, Word, Word, Word]
Function = TypeVar("Function", bound=Callable[..., Any])

ACTIONS_END = Word(LEFT + 1)
ONE, CELL, TWO_CELLS = Word(1), Word(CELL_BITS), Word(2 * CELL_BITS)
LINE, HOLES, REWARD = Word(LINE_MASK), Word(HOLES_MASK), Word(REWARD_MASK)
TO_HOLES, TO_REWARD, TO_LARGEST = Word(HOLES_SHIFT), Word(REWARD_SHIFT), Word(LARGEST_SHIFT)
LOW_BLOCK, EVEN_CELLS = Word(tables.LOW_BLOCK), Word(tables.EVEN_CELLS)
PATTERN_ACTION = Word(PATTERN_ACTION_WEIGHT)
_, PATTERN_SECOND, PATTERN_THIRD, PATTERN_FOURTH = map(Word, PATTERN_WEIGHTS)
CELL_OF_HOLE, ALL_CELLS = Word(CELL_MASK), Word(CELLS)
HALF, LOW_HALF = Word(32), Word(spawn.LOW_HALF)

NEXT = Word(STRIDE)
MIX_FACTORS = tuple(map(Word, random_stream.MIX_FACTORS))
MIX_SHIFTS = tuple(map(Word, random_stream.MIX_SHIFTS))


def compiled(function: Function) -> Function:
    """Compile a step of a loop: it becomes part of its callers, and makes no arrays.

    Without that, a call copies the tables' descriptions and counts references to them, which takes
    longer than most steps.
    """
    step: Any = numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)
    return cast(Function, step)


def compiled_loop(function: Function) -> Function:
    """Compile a function that Python calls: on its first call, and kept on disk.

    It lets other threads run.
    """
    # Numba looks at a loop's own file to see whether what it has kept is of the present code.  The
    # steps are in other files, so everything is kept under a name that stands for those.
    config: Any = numba.config
    usual = config.CACHE_DIR
    config.CACHE_DIR = str(Path(usual or Path(__file__).parent / "__pycache__") / _digest())
    try:
        loop: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = usual
    return cast(Function, loop)


@cache
def _digest() -> str:
    """Return a name for the present code of all steps."""
    here = Path(__file__)
    files = [here, *sorted((here.parent / "ntuple").glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


class Game(NamedTuple):
    """A sliding game as compiled loops take it: the tables of its rules and the law of new tiles.

    Attributes:
        pushed: `Tables.pushed`, unsigned.
        offsets: `Tables.offsets`, unsigned.
        hole_count: `Tables.hole_count`.
        hole_cell: `Tables.hole_cell`, unsigned.
        tiles: The tile indices that can appear.
        ends: Where each one's share of the range of a half word ends.
        probabilities: `float64`, theirs.
        rows: How many rows a board has.
        columns: How many columns.
        square: Whether these are as many.
    """

    pushed: Words
    offsets: Words
    hole_count: Words
    hole_cell: Words
    tiles: Words
    ends: Words
    probabilities: NDArray[np.float64]
    rows: int
    columns: int
    square: bool


class Pushed(NamedTuple):
    """What a push makes of a board.

    Attributes:
        changed: Whether it is another board.
        a: The first of its lines, rows if they were rows.
        b: The second.
        c: The third.
        d: The fourth.
        reward: The reward.
        largest: The largest tile's index.
        pattern: Where `hole_count` and `hole_cell` tell of its empty cells.
    """

    changed: bool
    a: Word
    b: Word
    c: Word
    d: Word
    reward: Word
    largest: Word
    pattern: Word


def game_of(env: SlidingEnv) -> Game:
    """Return a game for compiled loops."""
    of_rules, law = env.tables, env.law
    return Game(
        pushed=of_rules.pushed.view(np.uint64),
        offsets=of_rules.offsets.view(np.uint64),
        hole_count=of_rules.hole_count,
        hole_cell=of_rules.hole_cell.view(np.uint64),
        tiles=np.array(law.tiles, np.uint64),
        ends=np.array((*law.ends, LOW_HALF + ONE), np.uint64),
        probabilities=np.array(law.probabilities),
        rows=env.shape[0],
        columns=env.shape[1],
        square=env.shape[0] == env.shape[1],
    )


def rows_of(env: SlidingEnv, boards: Observations) -> Words:
    """Return the rows of boards, `(n, 4) uint64`.

    Raises:
        ValueError: If these are not boards of the game and shape.
    """
    boards = checked_boards(boards, env.rules)
    if boards.shape[1:] != env.shape:
        raise ValueError(f"boards must have shape {env.shape}, got {boards.shape[1:]}.")
    return np.ascontiguousarray(pack(boards)[0].T).view(np.uint64)


@compiled
def transposed(a: Word, b: Word, c: Word, d: Word) -> Lines:
    """Turn rows into columns, or columns into rows; see `tile_envs.sliding.boards.transpose`."""
    swap = (a >> TWO_CELLS ^ c) & LOW_BLOCK
    a, c = a ^ swap << TWO_CELLS, c ^ swap
    swap = (b >> TWO_CELLS ^ d) & LOW_BLOCK
    b, d = b ^ swap << TWO_CELLS, d ^ swap
    swap = (a >> CELL ^ b) & EVEN_CELLS
    a, b = a ^ swap << CELL, b ^ swap
    swap = (c >> CELL ^ d) & EVEN_CELLS
    return a, b, c ^ swap << CELL, d ^ swap


@compiled
def is_vertical(action: Word) -> bool:
    """Tell whether an action pushes columns: up and down are even, left and right odd."""
    return bool(action & ONE == Word(UP))


@compiled
def push(game: Game, action: Word, a: Word, b: Word, c: Word, d: Word) -> Pushed:
    """Push the lines of a board: rows for left and right, columns for up and down."""
    offset = game.offsets[action]
    p, q = game.pushed[offset + a], game.pushed[offset + b]
    r, s = game.pushed[offset + c], game.pushed[offset + d]
    pattern = (
        action * PATTERN_ACTION
        + (p >> TO_HOLES & HOLES)
        + (q >> TO_HOLES & HOLES) * PATTERN_SECOND
        + (r >> TO_HOLES & HOLES) * PATTERN_THIRD
        + (s >> TO_HOLES & HOLES) * PATTERN_FOURTH
    )
    changed = (p & LINE) != a or (q & LINE) != b or (r & LINE) != c or (s & LINE) != d
    reward = p + q + r + s >> TO_REWARD & REWARD
    largest = max(max(p, q), max(r, s)) >> TO_LARGEST
    return Pushed(changed, p & LINE, q & LINE, r & LINE, s & LINE, reward, largest, pattern)


@compiled
def spawned(game: Game, after: Pushed, word: Word) -> Lines:
    """Let a new tile appear after a push, where and as a random word says.

    It is the tile that `tile_envs` makes of the same word.
    """
    k = (word >> HALF) * game.hole_count[after.pattern] >> HALF
    hole = game.hole_cell[after.pattern * ALL_CELLS + k]
    which = 0
    while (word & LOW_HALF) >= game.ends[which]:
        which += 1
    return placed(after.a, after.b, after.c, after.d, hole, game.tiles[which])


@compiled
def placed(a: Word, b: Word, c: Word, d: Word, hole: Word, tile: Word) -> Lines:
    """Set a tile on an empty cell, given as in `hole_cell`."""
    line, bits = hole >> CELL, tile << (hole & CELL_OF_HOLE)
    if line == Word(0):
        a |= bits
    elif line == Word(1):
        b |= bits
    elif line == Word(2):
        c |= bits
    else:
        d |= bits
    return a, b, c, d


@compiled
def mixed(position: Word) -> Word:
    """Return the random word of a stream position; see `tile_envs.random_stream.mix`."""
    word = (position ^ position >> MIX_SHIFTS[0]) * MIX_FACTORS[0]
    word = (word ^ word >> MIX_SHIFTS[1]) * MIX_FACTORS[1]
    return word ^ word >> MIX_SHIFTS[2]
