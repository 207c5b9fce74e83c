"""The cells of the named adversary, as compiled loops find them."""

import numpy as np

from tile_envs.base.compiled import compiled_loop
from tile_envs.sliding.packed.kernels import game_tables, rows_of, worst_cells


def cells_of(game, boards, tile):
    """Return for each board the cells, row by row, of which the adversary takes one."""
    found = _worst(game_tables(game), rows_of(game, boards), np.uint64(tile))
    return [[cell for cell in range(16) if int(cells) >> cell & 1] for cells in found]


@compiled_loop
def _worst(game, rows, tile):
    cells = np.zeros(len(rows), np.uint64)
    for i in range(len(rows)):
        cells[i] = worst_cells(game, rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], tile)
    return cells
