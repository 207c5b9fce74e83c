"""Boards of the sliding games: what is drawn of them, and their pictures."""

from functools import cache, lru_cache, partial

from tile_envs.rendering.canvas import Canvas, Cell, Drawing, Picture, picture_grid
from tile_envs.sliding.rules import Boards, Palette, Rules

TILE, GAP, MARGIN, HEADER = 100, 12, 16, 72
PITCH, EDGE = TILE + GAP, GAP // 2  # the side of a tile with half a gap around it, and that half
SIGN_WIDTH, SIGN_HEIGHT = 112, 56
TITLE_SIZE, LABEL_SIZE, NUMBER_SIZE = 48, 12, 22
FACE_SIZES = (52, 50, 43, 35, 29, 24, 21)  # of faces of one digit, of two … of seven or more


def drawing(board: Boards, rules: Rules, score: int) -> Drawing:
    """Return how a board of tile indices `(R, C)` is drawn."""
    palette, labels = rules.palette, enumerate(["", *map(str, rules.faces[1:])])
    cells = [Cell(label, palette.ink(tile), palette.tiles[tile]) for tile, label in labels]
    rows = [[cells[tile] for tile in row] for row in board.tolist()]
    heading = [f"{rules.name}  score {score:,}"]
    return Drawing(rows, palette.board, heading, partial(_picture, rows, rules, score))


def _picture(rows: list[list[Cell]], rules: Rules, score: int) -> Picture:
    """Draw a board as the game that people know, all boards of a shape in one size."""
    palette, n_columns = rules.palette, len(rows[0])
    pixels = _page(palette, rules.name, len(rows), n_columns).copy()
    left, top, right = MARGIN + EDGE, MARGIN + HEADER + EDGE, pixels.shape[1] - MARGIN
    tiles = picture_grid([_tile(cell, palette.board) for row in rows for cell in row], n_columns)
    pixels[top : top + len(rows) * PITCH, left : left + n_columns * PITCH] = tiles
    pixels[MARGIN : MARGIN + SIGN_HEIGHT, right - SIGN_WIDTH : right] = _score(palette, score)
    return pixels


@cache
def _page(palette: Palette, name: str, n_rows: int, n_columns: int) -> Picture:
    """Return the picture of a board without its tiles."""
    right, bottom = (MARGIN + GAP + n * PITCH for n in (n_columns, n_rows))
    width = max(right, 2 * SIGN_WIDTH + GAP + MARGIN) + MARGIN  # the header may be the wider one
    canvas = Canvas(width, bottom + HEADER + MARGIN, palette.page)
    title = (MARGIN, MARGIN, MARGIN + SIGN_WIDTH, MARGIN + SIGN_HEIGHT)
    canvas.text(title, name, TITLE_SIZE, palette.dark)
    canvas.rectangle((MARGIN, MARGIN + HEADER, right, bottom + HEADER), 8, palette.board)
    return canvas.picture()


@cache
def _tile(cell: Cell, gap: str) -> Picture:
    canvas = Canvas(PITCH, PITCH, gap)
    canvas.rectangle((EDGE, EDGE, PITCH - EDGE, PITCH - EDGE), 6, cell.ground)
    size = FACE_SIZES[min(len(cell.label), len(FACE_SIZES)) - 1]
    canvas.text((GAP, 0, PITCH - GAP, PITCH), cell.label, size, cell.ink)
    return canvas.picture()


@lru_cache(maxsize=256)
def _score(palette: Palette, score: int) -> Picture:
    canvas = Canvas(SIGN_WIDTH, SIGN_HEIGHT, palette.page)
    canvas.rectangle((0, 0, SIGN_WIDTH, SIGN_HEIGHT), 6, palette.board)
    canvas.text((0, 8, SIGN_WIDTH, 22), "SCORE", LABEL_SIZE, palette.tiles[1])
    canvas.text((8, 22, SIGN_WIDTH - 8, 50), f"{score:,}", NUMBER_SIZE, palette.light)
    return canvas.picture()
