"""Who places the new tiles: the named adversary, and objects that users bring."""

import numpy as np
import powers3
import pytest

from tile_envs.compiled import compiled_loop
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.sliding.kernels import game_tables, rows_of, worst_cells

RULES = [RULES_2048, RULES_2584, powers3.RULES]
SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3), (2, 4), (4, 3), (4, 4)]
by_rules = pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def random_boards(game, n, seed=0):
    """Boards of all degrees of fullness, with small tiles, so that many can merge."""
    rng = np.random.default_rng(seed)
    boards = rng.integers(1, 6, (n, *game.shape)).astype(np.uint8)
    return boards * (rng.random(boards.shape) < rng.random((n, 1, 1)))


def value_of(game, board):
    """The highest reward plus number of empty cells after a legal move; -1 without one."""
    (after,), (rewards,), (masks,) = game.afterstates(board[None])
    values = [rewards[i] + (after[i] == 0).sum() for i in range(4) if masks[i]]
    return max(values, default=-1)


def worst_by_force(game, board, tile):
    """Try every empty cell; return the set of the worst ones, in reading order."""
    values = {}
    for cell in np.flatnonzero(board == 0):
        placed = board.copy()
        placed.flat[cell] = tile
        values[int(cell)] = value_of(game, placed)
    return {cell for cell, value in values.items() if value == min(values.values())}


@compiled_loop
def compiled_cells(game, rows, tile):
    cells = np.zeros(len(rows), np.uint64)
    for i in range(len(rows)):
        cells[i] = worst_cells(game, rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], tile)
    return cells


@by_rules
@by_shape
def test_the_adversary_takes_the_cells_that_leave_the_player_the_least(rules, shape):
    game = SlidingGame(rules, shape)
    boards = random_boards(game, 300)
    for tile in (1, 2, 3):
        expected = [worst_by_force(game, board, tile) for board in boards]
        found = compiled_cells(game_tables(game), rows_of(game, boards), np.uint64(tile))
        assert [{i for i in range(16) if int(cells) >> i & 1} for cells in found] == expected
    assert len({len(cells) for cells in expected}) > 2
