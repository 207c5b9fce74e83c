"""Boards of the sliding games as text and as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

from tile_envs.drawing import Canvas, Picture, grid
from tile_envs.sliding.boards import Boards
from tile_envs.sliding.rules import Rules

TILE, GAP, MARGIN, HEADER = 100, 12, 16, 72
SIGN_WIDTH, SIGN_HEIGHT = 112, 56
TITLE_SIZE, LABEL_SIZE, NUMBER_SIZE = 48, 12, 22
FACE_SIZES = (52, 50, 43, 35, 29, 24, 21)
"""The text size of faces of one digit, of two …"""


@dataclass(frozen=True)
class Palette:
    """The colours of a game.

    Attributes:
        page: What is around the board.
        board: The board between its cells.
        dark: The ink on light ground.
        light: The ink on dark ground.
        dark_inks: So many tiles, the smallest, have dark ink; the others have light ink.
        tiles: Each tile index's ground, beginning with the empty cell.
    """

    page: str
    board: str
    dark: str
    light: str
    dark_inks: int
    tiles: tuple[str, ...]

    def ink(self, tile: int) -> str:
        """Return the colour of a tile's number."""
        return self.dark if tile <= self.dark_inks else self.light


# The colours of the original game, which has one for all tiles past 2048.
_PALETTE_2048 = Palette(
    page="#faf8ef",
    board="#bbada0",
    dark="#776e65",
    light="#f9f6f2",
    dark_inks=2,
    tiles=(
        "#cdc1b4",
        *("#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b"),
        *("#edcf72", "#edcc61", "#edc850", "#edc53f", "#edc22e"),
        *("#3c3a32",) * 6,
    ),
)

# Once around the colour circle, from light to dark, in steps that look equal (OKLab): 31 tiles can
# be told apart, and a larger tile is always a darker one.
_PALETTE_2584 = Palette(
    page="#f6f8f5",
    board="#9db0ae",
    dark="#2f3a3a",
    light="#ffffff",
    dark_inks=14,
    tiles=(
        "#bccac7",
        *("#feedc8", "#f3e8ae", "#e1e59c", "#cbe490", "#afe38b", "#91e095", "#73dca1", "#52d6ad"),
        *("#2cceb9", "#11c5c3", "#0fbbca", "#18b0d1", "#18a6d8", "#329adb", "#458ddc", "#5780db"),
        *("#6673d6", "#7266ce", "#7d59c4", "#864cb6", "#8d40a7", "#913593", "#94297f", "#941d69"),
        *("#940f53", "#90043d", "#890428", "#820209", "#731b03", "#642402", "#542700"),
    ),
)

PALETTES = {"2048": _PALETTE_2048, "2584": _PALETTE_2584}
"""By the name of the rules."""


def heading(rules: Rules, score: int) -> str:
    """Return the line above a board of text."""
    return f"{rules.name}  score {score}"


def text(board: Boards, rules: Rules, score: int) -> str:
    """Draw a board with characters, faces in its cells.

    Args:
        board: Tile indices, `(R, C)`.
        rules: The game.
        score: The score so far.
    """
    faces = [[str(rules.faces[tile]) if tile else "" for tile in row] for row in board.tolist()]
    width = max(len(face) for row in faces for face in row)
    cells = grid([[face.rjust(width) for face in row] for row in faces])
    return f"{heading(rules, score)}\n{cells}"


def picture(board: Boards, rules: Rules, score: int) -> Picture:
    """Draw a board as the game that people know.

    Args:
        board: Tile indices, `(R, C)`.
        rules: The game.
        score: The score so far.

    Returns:
        `(H, W, 3) uint8`, the same size for every board of a shape.
    """
    n_rows, n_columns = board.shape
    pixels = _empty_board(rules.name, n_rows, n_columns).copy()
    for i, row in enumerate(board.tolist()):
        for j, tile in enumerate(row):
            if tile:
                left, top, right, bottom = _cell(i, j)
                pixels[top:bottom, left:right] = _tile(rules.name, tile, rules.faces[tile])
    right = pixels.shape[1] - MARGIN
    pixels[MARGIN : MARGIN + SIGN_HEIGHT, right - SIGN_WIDTH : right] = _score(rules.name, score)
    return pixels


def _cell(i: int, j: int) -> tuple[int, int, int, int]:
    """Return the box of the cell in row i and column j."""
    left = MARGIN + GAP + j * (TILE + GAP)
    top = MARGIN + HEADER + GAP + i * (TILE + GAP)
    return left, top, left + TILE, top + TILE


@cache
def _empty_board(game: str, n_rows: int, n_columns: int) -> Picture:
    palette = PALETTES[game]
    right, bottom = (GAP + n * (TILE + GAP) + MARGIN for n in (n_columns, n_rows))
    canvas = Canvas(right + MARGIN, bottom + HEADER + MARGIN, palette.page)
    title = (MARGIN, MARGIN, MARGIN + SIGN_WIDTH, MARGIN + SIGN_HEIGHT)
    canvas.text(title, game, TITLE_SIZE, palette.dark)
    canvas.rectangle((MARGIN, MARGIN + HEADER, right, bottom + HEADER), 8, palette.board)
    for i in range(n_rows):
        for j in range(n_columns):
            canvas.rectangle(_cell(i, j), 6, palette.tiles[0])
    return canvas.picture()


@cache
def _tile(game: str, tile: int, face: int) -> Picture:
    palette = PALETTES[game]
    canvas = Canvas(TILE, TILE, palette.board)
    canvas.rectangle((0, 0, TILE, TILE), 6, palette.tiles[tile])
    size = FACE_SIZES[len(str(face)) - 1]
    canvas.text((6, 0, TILE - 6, TILE), str(face), size, palette.ink(tile))
    return canvas.picture()


@lru_cache(maxsize=256)
def _score(game: str, score: int) -> Picture:
    palette = PALETTES[game]
    canvas = Canvas(SIGN_WIDTH, SIGN_HEIGHT, palette.page)
    canvas.rectangle((0, 0, SIGN_WIDTH, SIGN_HEIGHT), 6, palette.board)
    canvas.text((0, 8, SIGN_WIDTH, 22), "SCORE", LABEL_SIZE, palette.tiles[1])
    canvas.text((8, 22, SIGN_WIDTH - 8, 50), str(score), NUMBER_SIZE, palette.light)
    return canvas.picture()
