"""Whole boards in compiled search, learning and solving: their pushes, and what follows these."""

from tile_envs.base.compiled import Word, compiled
from tile_envs.sliding.compiled import is_vertical
from tile_envs.sliding.packed.kernels import (
    GameTables,
    Lines,
    Pushed,
    both_following,
    empty_cells,
    push,
    transposed,
    worst_cells,
)


@compiled
def pushed_to(
    game: GameTables, action: Word, a: Word, b: Word, c: Word, d: Word, columns: Lines
) -> Pushed:
    """Push a board, given as its rows and its columns."""
    if is_vertical(action):
        return push(game, action, columns[0], columns[1], columns[2], columns[3])
    return push(game, action, a, b, c, d)


@compiled
def rows_after(game: GameTables, action: Word, after: Pushed) -> Lines:
    """Return the rows of an afterstate; on a square board maybe its columns, a symmetric board."""
    if game.rows != game.columns and is_vertical(action):
        return transposed(*after.lines)
    return after.lines


@compiled
def following(game: GameTables, action: Word, after: Pushed, word: Word) -> Lines:
    """Return the rows of the state that follows a push, as the environments make it of a word."""
    return both_following(game, game.adversarial, action, after, word)[0]


@compiled
def possible_cells(game: GameTables, a: Word, b: Word, c: Word, d: Word, tile: Word) -> Word:
    """Return where a tile may appear on an afterstate, as `worst_cells` does."""
    if game.adversarial is not None:
        return worst_cells(game, a, b, c, d, tile)
    return empty_cells(game, a, b, c, d)
