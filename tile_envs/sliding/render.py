"""Boards of the sliding games as text and as pictures."""

from functools import cache, lru_cache

from tile_envs.rendering.canvas import Canvas, Picture, grid
from tile_envs.sliding.rules import Boards, Palette, Rules

TILE, GAP, MARGIN, HEADER = 100, 12, 16, 72
SIGN_WIDTH, SIGN_HEIGHT = 112, 56
TITLE_SIZE, LABEL_SIZE, NUMBER_SIZE = 48, 12, 22
FACE_SIZES = (52, 50, 43, 35, 29, 24, 21)
"""The text size of faces of one digit, of two … and of seven or more."""


def heading(rules: Rules, score: int) -> str:
    return f"{rules.name}  score {score:,}"


def text(board: Boards, rules: Rules, score: int) -> str:
    """Draw a board of tile indices `(R, C)` with characters, faces in its cells."""
    faces = [[str(rules.faces[tile]) if tile else "" for tile in row] for row in board.tolist()]
    width = max(len(face) for row in faces for face in row)
    cells = grid([[face.rjust(width) for face in row] for row in faces])
    return f"{heading(rules, score)}\n{cells}"


def picture(board: Boards, rules: Rules, score: int) -> Picture:
    """Draw a board `(R, C)` as the game that people know, all boards of a shape in one size."""
    pixels = _empty_board(rules.palette, rules.name, *board.shape).copy()
    for i, row in enumerate(board.tolist()):
        for j, tile in enumerate(row):
            if tile:
                left, top, right, bottom = _cell(i, j)
                pixels[top:bottom, left:right] = _tile(rules.palette, rules.faces[tile], tile)
    right = pixels.shape[1] - MARGIN
    pixels[MARGIN : MARGIN + SIGN_HEIGHT, right - SIGN_WIDTH : right] = _score(rules.palette, score)
    return pixels


def _cell(i: int, j: int) -> tuple[int, int, int, int]:
    left = MARGIN + GAP + j * (TILE + GAP)
    top = MARGIN + HEADER + GAP + i * (TILE + GAP)
    return left, top, left + TILE, top + TILE


@cache
def _empty_board(palette: Palette, name: str, n_rows: int, n_columns: int) -> Picture:
    right, bottom = (GAP + n * (TILE + GAP) + MARGIN for n in (n_columns, n_rows))
    width = max(right, 2 * SIGN_WIDTH + GAP + MARGIN) + MARGIN  # the header may be the wider one
    canvas = Canvas(width, bottom + HEADER + MARGIN, palette.page)
    title = (MARGIN, MARGIN, MARGIN + SIGN_WIDTH, MARGIN + SIGN_HEIGHT)
    canvas.text(title, name, TITLE_SIZE, palette.dark)
    canvas.rectangle((MARGIN, MARGIN + HEADER, right, bottom + HEADER), 8, palette.board)
    for i in range(n_rows):
        for j in range(n_columns):
            canvas.rectangle(_cell(i, j), 6, palette.tiles[0])
    return canvas.picture()


@cache
def _tile(palette: Palette, face: int, tile: int) -> Picture:
    canvas = Canvas(TILE, TILE, palette.board)
    canvas.rectangle((0, 0, TILE, TILE), 6, palette.tiles[tile])
    size = FACE_SIZES[min(len(str(face)), len(FACE_SIZES)) - 1]
    canvas.text((6, 0, TILE - 6, TILE), str(face), size, palette.ink(tile))
    return canvas.picture()


@lru_cache(maxsize=256)
def _score(palette: Palette, score: int) -> Picture:
    canvas = Canvas(SIGN_WIDTH, SIGN_HEIGHT, palette.page)
    canvas.rectangle((0, 0, SIGN_WIDTH, SIGN_HEIGHT), 6, palette.board)
    canvas.text((0, 8, SIGN_WIDTH, 22), "SCORE", LABEL_SIZE, palette.tiles[1])
    canvas.text((8, 22, SIGN_WIDTH - 8, 50), f"{score:,}", NUMBER_SIZE, palette.light)
    return canvas.picture()
