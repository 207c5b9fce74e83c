"""Tic-tac-toe boards as text and as pictures."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tile_envs.drawing import Canvas, Picture, grid
from tile_envs.tictactoe.positions import CELLS, SIDE, WINNING_LINES, O, X

CELL, GAP, MARGIN, STROKE = 120, 10, 20, 13
LETTERS = {X: "X", O: "O"}

PAGE = "#faf8ef"
GROUNDS = {"free": "#ece4d9", "cursor": "#ddd0bf", "won": "#f7e3a1"}
INKS = {X: "#d9534f", O: "#3a7ca5"}
PALE_INK = "#a89c8e"


def text(marks: NDArray[np.int8], cursor: int | None = None) -> str:
    """Draw a board with characters: free cells show their number, a winning line is in brackets.

    Args:
        marks: `(3, 3) int8`, 1 X, -1 O, 0 empty.
        cursor: A cell to be pointed at, if there is one.
    """
    won = winning_cells(marks)
    cells = [
        f"[{letter}]" if cell in won else f"›{letter}‹" if cell == cursor else f" {letter} "
        for cell, letter in enumerate(letters(marks))
    ]
    return grid([cells[start : start + SIDE] for start in range(0, CELLS, SIDE)])


def picture(marks: NDArray[np.int8], cursor: int | None = None) -> Picture:
    """Draw a board; a winning line has its cells lit.

    Args:
        marks: `(3, 3) int8`, 1 X, -1 O, 0 empty.
        cursor: A cell to be pointed at, if there is one.

    Returns:
        `(H, W, 3) uint8`, always the same size.
    """
    grounds = ground_names(marks, cursor)
    side = 2 * MARGIN + SIDE * (CELL + GAP) - GAP
    pixels = np.empty((side, side, 3), np.uint8)
    pixels[:] = _blank(side)
    for cell, mark in enumerate(marks.ravel().tolist()):
        left, top = _corner(cell)
        pixels[top : top + CELL, left : left + CELL] = _square(mark, grounds[cell])
    return pixels
