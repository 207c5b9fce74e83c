"""Tic-tac-toe boards: what is drawn of them, and their pictures."""

from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from tile_envs.rendering.canvas import Canvas, Cell, Drawing, Picture, picture_grid
from tile_envs.tictactoe.positions import CELL_NAMES, CELLS, SIDE, WINNING_LINES, O, X

SQUARE, GAP, MARGIN, INSET, STROKE = 120, 10, 22, 30, 13
PITCH, EDGE = SQUARE + GAP, GAP // 2
"""The side of a square with half a gap around it, and that half."""
PICTURE_SIDE = 2 * MARGIN + SIDE * PITCH - GAP
LETTERS = {X: "X", O: "O"}
PAGE = "#faf8ef"
GROUND, CURSOR_GROUND, WON_GROUND = "#ece4d9", "#d3c5b3", "#f6dc8c"
INKS = {X: "#d1495b", O: "#30638e"}
PALE_INK = "#a89c8e"


def drawing(marks: NDArray[np.int8], cursor: int | None = None) -> Drawing:
    """Return how marks `(3, 3)` are drawn, and the cursor, the cell that a player points at.

    Free cells have numbers in text; winning marks stand on golden ground, in text in brackets.
    """
    looks: dict[int | None, tuple[str, str]] = dict.fromkeys(range(CELLS), (GROUND, "  "))
    looks[cursor] = CURSOR_GROUND, "><"
    looks |= dict.fromkeys(winning_cells(marks), (WON_GROUND, "[]"))
    cells = [
        Cell(LETTERS.get(mark, CELL_NAMES[cell]), INKS.get(mark, PALE_INK), *looks[cell])
        for cell, mark in enumerate(marks.ravel().tolist())
    ]
    rows = [cells[first : first + SIDE] for first in range(0, CELLS, SIDE)]
    return Drawing(rows, PAGE, [], partial(_picture, cells))


def _picture(cells: list[Cell]) -> Picture:
    pixels = np.full((PICTURE_SIDE, PICTURE_SIDE, 3), tuple(bytes.fromhex(PAGE[1:])), np.uint8)
    inner = slice(MARGIN - EDGE, EDGE - MARGIN)
    pixels[inner, inner] = picture_grid([_square(cell) for cell in cells])
    return pixels


def winning_cells(marks: NDArray[np.int8]) -> set[int]:
    """Return the cells of all complete lines: one mark can complete two."""
    lines = np.array(WINNING_LINES)
    complete = abs(marks.ravel()[lines].sum(axis=1)) == SIDE
    return set(lines[complete].ravel().tolist())


def cell_at(x: int, y: int) -> int | None:
    """Return the cell at a pixel of the picture, or None beside the cells."""
    (row, below), (column, right) = (divmod(place - MARGIN, PITCH) for place in (y, x))
    inside = row in range(SIDE) and column in range(SIDE) and max(below, right) < SQUARE
    return row * SIDE + column if inside else None


@cache
def _square(cell: Cell) -> Picture:
    canvas = Canvas(PITCH, PITCH, PAGE)
    canvas.rectangle((EDGE, EDGE, PITCH - EDGE, PITCH - EDGE), 8, cell.ground)
    low, high = EDGE + INSET, PITCH - EDGE - INSET
    if cell.label == LETTERS[X]:
        canvas.line((low, low, high, high), STROKE, cell.ink)
        canvas.line((low, high, high, low), STROKE, cell.ink)
    elif cell.label == LETTERS[O]:
        edge = STROKE / 2
        canvas.ring((low - edge, low - edge, high + edge, high + edge), STROKE, cell.ink)
    return canvas.picture()
