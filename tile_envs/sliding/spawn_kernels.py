"""Primitives for compiled loops: which tile appears, and on which cell.

They are those of `kernels`, and make of a random word the tile that the environments make of it.
"""

from __future__ import annotations

from tile_envs.base.compiled import compiled
from tile_envs.base.stream_kernels import HALF, ONE, Word
from tile_envs.sliding.kernels import (
    ALL_CELLS,
    CELL,
    CELL_IN_LINE,
    EMPTY,
    LOW_HALF,
    REWARD,
    TO_EMPTY,
    TO_REWARD,
    GameTables,
    Lines,
    Pushed,
    is_vertical,
    line_of,
    placed,
    transposed,
)
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, UP

# Words, all of one type: numba would compile `gain` anew for each literal number.
TO_UP, TO_RIGHT, TO_DOWN, TO_LEFT = map(Word, (UP, RIGHT, DOWN, LEFT))


@compiled
def following(game: GameTables, action: Word, after: Pushed, word: Word) -> Lines:
    """Return the rows of the state that follows a push, its new tile as a random word says.

    It is the tile that `tile_envs` makes of the same word.
    """
    return both_following(game, action, after, word)[0]


@compiled
def both_following(
    game: GameTables, action: Word, after: Pushed, word: Word
) -> tuple[Lines, Lines]:
    """Return the rows and the columns of the state that follows a push; see `following`."""
    return _both_following(game, game.adversarial, action, after, word)


@compiled
def _both_following(
    game: GameTables, adversarial: bool | None, action: Word, after: Pushed, word: Word
) -> tuple[Lines, Lines]:
    # As an argument of its own, `adversarial` has numba leave out the branch that is never taken:
    # `worst_cells` takes half a second to compile.
    lines, tile = (after.a, after.b, after.c, after.d), drawn_tile(game, word)
    vertical = is_vertical(action)
    if adversarial is None:
        k = (word >> HALF) * game.empty_count[after.pattern] >> HALF
        cell = game.empty_cell[after.pattern * ALL_CELLS + k]
        lines = placed(*lines, cell, tile)
        turned = transposed(*lines)
        return (turned, lines) if vertical else (lines, turned)
    rows = transposed(*lines) if vertical else lines
    cells = worst_cells(game, *rows, tile)
    rows = placed(*rows, one_of(game, cells, word), tile)
    return rows, transposed(*rows)


@compiled
def drawn_tile(game: GameTables, word: Word) -> Word:
    """Return the index of the tile that a random word makes appear."""
    which = 0
    while (word & LOW_HALF) >= game.thresholds[which]:
        which += 1
    tile: Word = game.tiles[which]
    return tile


@compiled
def one_of(game: GameTables, cells: Word, word: Word) -> Word:
    """Choose one of a set of cells by a random word, and return it as `placed` takes it."""
    k = (word >> HALF) * count(cells) >> HALF
    for _ in range(k):
        cells &= cells - ONE
    row, column = divmod(count((cells & ~cells + ONE) - ONE), Word(game.columns))
    return row << CELL | column * CELL


@compiled
def count(cells: Word) -> Word:
    """Return the number of cells of a set."""
    n = Word(0)
    while cells:
        cells &= cells - ONE
        n += ONE
    return n


@compiled
def possible_cells(game: GameTables, a: Word, b: Word, c: Word, d: Word, tile: Word) -> Word:
    """Return where a tile may appear on an afterstate, as `worst_cells` does."""
    if game.adversarial is not None:
        return worst_cells(game, a, b, c, d, tile)
    return empty_cells(game, a, b, c, d)


@compiled
def empty_cells(game: GameTables, a: Word, b: Word, c: Word, d: Word) -> Word:
    """Return the empty cells of a board, as `worst_cells` does."""
    cells, bit = Word(0), ONE
    for i in range(game.rows):
        row = line_of(a, b, c, d, i)
        for j in range(game.columns):
            if not row >> Word(j) * CELL & CELL_IN_LINE:
                cells |= bit
            bit <<= ONE
    return cells


@compiled
def worst_cells(game: GameTables, a: Word, b: Word, c: Word, d: Word, tile: Word) -> Word:
    """Return where the named adversary may place a tile; see `tile_envs.sliding.placer`.

    Args:
        game: The game, whatever its placer.
        a: The first row of an afterstate.
        b: The second.
        c: The third.
        d: The fourth.
        tile: The index of the new tile.

    Returns:
        The cells that are worst for the player, as bits `1 << row * columns + column`; 0 if no cell
        is empty.
    """
    e, f, g, h = transposed(a, b, c, d)
    up = down = right = left = Word(0)
    for i in range(game.rows):
        line = line_of(a, b, c, d, i)
        right += gain(game, TO_RIGHT, line)
        left += gain(game, TO_LEFT, line)
    for i in range(game.columns):
        line = line_of(e, f, g, h, i)
        up += gain(game, TO_UP, line)
        down += gain(game, TO_DOWN, line)
    worst, lowest, bit = Word(0), ~Word(0), ONE
    for i in range(game.rows):
        row = line_of(a, b, c, d, i)
        other_right, other_left = right - gain(game, TO_RIGHT, row), left - gain(game, TO_LEFT, row)
        for j in range(game.columns):
            shift = Word(j) * CELL
            if not row >> shift & CELL_IN_LINE:
                column = line_of(e, f, g, h, j)
                in_row, in_column = row | tile << shift, column | tile << Word(i) * CELL
                to_up = up - gain(game, TO_UP, column) + gain(game, TO_UP, in_column)
                to_down = down - gain(game, TO_DOWN, column) + gain(game, TO_DOWN, in_column)
                to_right = other_right + gain(game, TO_RIGHT, in_row)
                to_left = other_left + gain(game, TO_LEFT, in_row)
                value = max(max(to_up, to_down), max(to_right, to_left))
                if value < lowest:
                    worst, lowest = Word(0), value
                if value == lowest:
                    worst |= bit
            bit <<= ONE
    return worst


@compiled
def gain(game: GameTables, action: Word, line: Word) -> Word:
    """Return what a line adds to the value of a push: its reward and the cells it leaves empty."""
    pushed: Word = game.pushed[game.offsets[action] + line]
    return (pushed >> TO_EMPTY & EMPTY) + (pushed >> TO_REWARD & REWARD)
