"""Tic-tac-toe boards as text and as pictures."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tile_envs.rendering.canvas import Canvas, Picture, grid
from tile_envs.tictactoe.positions import CELL_NAMES, CELLS, SIDE, WINNING_LINES, O, X

SQUARE, GAP, MARGIN, INSET, STROKE = 120, 10, 22, 30, 13
PICTURE_SIDE = 2 * MARGIN + SIDE * (SQUARE + GAP) - GAP

LETTERS = {X: "X", O: "O"}

PAGE = "#faf8ef"
GROUND, CURSOR_GROUND, WON_GROUND = "#ece4d9", "#d3c5b3", "#f6dc8c"
INKS = {X: "#d1495b", O: "#30638e"}
PALE_INK = "#a89c8e"


def text(marks: NDArray[np.int8], cursor: int | None = None) -> str:
    """Draw marks `(3, 3)` with characters: free cells have numbers, winning marks brackets.

    The cursor is the cell that a player points at, if there is one.
    """
    won = winning_cells(marks)
    cells = []
    for cell, mark in enumerate(marks.ravel().tolist()):
        before, after = "[]" if cell in won else "><" if cell == cursor else "  "
        cells.append(before + LETTERS.get(mark, CELL_NAMES[cell]) + after)
    return grid([cells[first : first + SIDE] for first in range(0, CELLS, SIDE)])


def picture(marks: NDArray[np.int8], cursor: int | None = None) -> Picture:
    """Draw marks `(3, 3)`, always in the same size; the winning ones stand on golden ground."""
    pixels = np.full((PICTURE_SIDE, PICTURE_SIDE, 3), tuple(bytes.fromhex(PAGE[1:])), np.uint8)
    squares = zip(marks.ravel().tolist(), grounds(marks, cursor), strict=True)
    for cell, (mark, ground) in enumerate(squares):
        left, top = _corner(cell)
        pixels[top : top + SQUARE, left : left + SQUARE] = _square(mark, ground)
    return pixels


def winning_cells(marks: NDArray[np.int8]) -> set[int]:
    """Return the cells of all complete lines: one mark can complete two."""
    lines = np.array(WINNING_LINES)
    complete = abs(marks.ravel()[lines].sum(axis=1)) == SIDE
    return set(lines[complete].ravel().tolist())


def grounds(marks: NDArray[np.int8], cursor: int | None = None) -> list[str]:
    """Return the color of the ground of each cell."""
    won = winning_cells(marks)
    return [
        WON_GROUND if cell in won else CURSOR_GROUND if cell == cursor else GROUND
        for cell in range(CELLS)
    ]


def cell_at(x: int, y: int) -> int | None:
    """Return the cell at a pixel of the picture, or None beside the cells."""
    for cell in range(CELLS):
        left, top = _corner(cell)
        if left <= x < left + SQUARE and top <= y < top + SQUARE:
            return cell
    return None


def _corner(cell: int) -> tuple[int, int]:
    row, column = divmod(cell, SIDE)
    return MARGIN + column * (SQUARE + GAP), MARGIN + row * (SQUARE + GAP)


@cache
def _square(mark: int, ground: str) -> Picture:
    canvas = Canvas(SQUARE, SQUARE, PAGE)
    canvas.rectangle((0, 0, SQUARE, SQUARE), 8, ground)
    low, high = INSET, SQUARE - INSET
    if mark == X:
        canvas.line((low, low), (high, high), STROKE, INKS[X])
        canvas.line((low, high), (high, low), STROKE, INKS[X])
    elif mark == O:
        edge = STROKE / 2
        canvas.ring((low - edge, low - edge, high + edge, high + edge), STROKE, INKS[O])
    return canvas.picture()
