"""What is drawn of a board, as text and as a picture, and the canvas that pictures are drawn on."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import checked_count
from tile_envs.errors import UsageError

Picture = NDArray[np.uint8]
"""`(H, W, 3) uint8`, red, green and blue."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""

SUPERSAMPLING = 4
BOLDNESS = 0.03
"""The stroke that is added around text, in parts of its size: the font at hand is a thin one."""
BLOCK_WIDTH = 7
TALL_ROWS = 5
"""The most rows whose cells are three lines high: eight rows of two fit a terminal of 24 lines."""
PLAIN, BOLD = "\x1b[0m", "\x1b[1m"
CAPTION_HEIGHT, CAPTION_SIZE, CAPTION_INK = 26, 15, "#6d6a62"


class Cell(NamedTuple):
    """A cell: its label, the colors of label and ground, and what stands around a plain label."""

    label: str
    ink: str
    ground: str
    brackets: str = ""


class Drawing(NamedTuple):
    """A board: rows of cells on a color, a line above, its picture, and lines of words below it."""

    rows: Sequence[Sequence[Cell]]
    color: str
    heading: Sequence[str]
    board: Callable[[], Picture]
    lines: Sequence[str] | None = None

    def text(self, colors: bool = False) -> str:
        """Return lines of plain characters, or painted by the sequences of a terminal."""
        board = self._blocks() if colors else self._characters()
        below = [] if self.lines is None else ["", *self.lines]
        return "\n".join([*self.heading, *board, *below])

    def _characters(self) -> list[str]:
        width = max(len(cell.label) for row in self.rows for cell in row)
        bars = ["─" * (width + len(cell.brackets) + 2) for cell in self.rows[0]]
        lines = [f"┌{'┬'.join(bars)}┐"]
        for row in self.rows:
            cells = [f" {c.brackets[:1]}{c.label:>{width}}{c.brackets[1:]} " for c in row]
            lines += [f"│{'│'.join(cells)}│", f"├{'┼'.join(bars)}┤"]
        return [*lines[:-1], f"└{'┴'.join(bars)}┘"]

    def _blocks(self) -> list[str]:
        """Paint cells that are three lines high, or two in more than `TALL_ROWS` rows."""
        width = max(BLOCK_WIDTH, *(len(cell.label) + 1 for row in self.rows for cell in row))
        edge = _paint(" ", self.color, self.color)
        lines = []
        for row in self.rows:
            painted = [[_paint("▄" * width, cell.ground, self.color) for cell in row]]
            painted += [[_paint(cell.label.center(width), cell.ink, cell.ground) for cell in row]]
            if len(self.rows) <= TALL_ROWS:
                painted += [[_paint(" " * width, cell.ink, cell.ground) for cell in row]]
            lines += [edge + edge.join(line) + edge for line in painted]
        columns = (width + 1) * len(self.rows[0]) + 1
        return [*lines, f"{_color(self.color, 38)}{'▀' * columns}{PLAIN}"]

    def picture(self) -> Picture:
        """Return the picture, with the background of the board continued below it."""
        board = self.board()
        if self.lines is None:
            return board
        width, ground, strips = board.shape[1], "#" + board[0, 0].tobytes().hex(), [board]
        for line in self.lines:
            strip = Canvas(width, CAPTION_HEIGHT, ground)
            strip.text((8, 0, width - 8, CAPTION_HEIGHT), line, CAPTION_SIZE, CAPTION_INK)
            strips.append(strip.picture())
        return np.concatenate([*strips, board[-8:]])  # and a margin


def _paint(text: str, ink: str, ground: str) -> str:
    return f"{_color(ink, 38)}{_color(ground, 48)}{BOLD}{text}{PLAIN}"


def _color(color: str, kind: int) -> str:
    """Return the sequence that sets the ink (kind 38) or the ground (48) to `#rrggbb`."""
    red, green, blue = bytes.fromhex(color[1:])
    return f"\x1b[{kind};2;{red};{green};{blue}m"


class Canvas:
    """A picture in the making, drawn larger and then shrunk, so that every edge is smooth."""

    def __init__(self, width: int, height: int, background: str) -> None:
        from PIL import Image, ImageDraw  # late: environments that draw nothing never pay

        self._image = Image.new("RGB", (width * SUPERSAMPLING, height * SUPERSAMPLING), background)
        self._draw = ImageDraw.Draw(self._image)

    def rectangle(self, box: Box, radius: float, color: str) -> None:
        left, top, right, bottom = _scale(*box)  # Pillow draws the last pixel as well
        box = left, top, right - 1, bottom - 1
        self._draw.rounded_rectangle(box, radius * SUPERSAMPLING, color)

    def line(self, ends: Box, width: float, color: str) -> None:
        """Draw a straight line with round ends, `x, y` and `x, y`."""
        self._draw.line(_scale(*ends), color, round(width * SUPERSAMPLING))
        half = width / 2
        for x, y in (ends[:2], ends[2:]):
            self._draw.ellipse(_scale(x - half, y - half, x + half, y + half), color)

    def ring(self, box: Box, width: float, color: str) -> None:
        self._draw.ellipse(_scale(*box), outline=color, width=round(width * SUPERSAMPLING))

    def text(self, box: Box, words: str, size: float, color: str) -> None:
        """Write one line in the middle of a box, smaller than `size` where it would not fit."""
        left, top, right, bottom = _scale(*box)
        pixels = size * SUPERSAMPLING
        width = _font(round(pixels)).getlength(words) + 2 * BOLDNESS * pixels
        fitting = max(1, round(pixels * min(1.0, (right - left) / width)))
        font, stroke = _font(fitting), int(BOLDNESS * fitting)
        # Digits and capitals stand on the base line; what hangs below it should not move them.
        digit_height = -font.getbbox("0", anchor="ls")[1]
        middle = (left + right) / 2, (top + bottom + digit_height) / 2
        self._draw.text(middle, words, color, font, anchor="ms", stroke_width=stroke)

    def picture(self) -> Picture:
        return np.array(self._image.reduce(SUPERSAMPLING))


@cache
def _font(pixels: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(pixels)


def _scale(*numbers: float) -> tuple[float, ...]:
    return tuple(number * SUPERSAMPLING for number in numbers)


def shrink(picture: Picture, factor: float) -> Picture:
    """Make a picture smaller; leave it as it is if the factor is 1 or more."""
    from PIL import Image, ImageOps

    image = Image.fromarray(picture)
    return np.array(ImageOps.scale(image, min(1.0, factor), Image.Resampling.LANCZOS))


def picture_grid(pictures: Sequence[Picture], columns: int | None = None) -> Picture:
    """Put pictures of one size together, row by row, by default in about a square.

    The result, `(rows * H, columns * W, 3) uint8`, is white where pictures are lacking.  A
    `ValueError` refuses no pictures, and `columns` that are no positive integer.
    """
    if pictures is None or not len(pictures) or isinstance(pictures[0], str):
        raise UsageError('pictures must be one or more: make games with render_mode="rgb_array".')
    usual = math.isqrt(len(pictures) - 1) + 1
    columns = usual if columns is None else checked_count(columns, "columns")
    rows, (height, width, _) = -(-len(pictures) // columns), pictures[0].shape
    whole = np.full((rows, height, columns, width, 3), 255, np.uint8)
    for i, picture in enumerate(pictures):
        whole[i // columns, :, i % columns] = picture
    return whole.reshape(rows * height, columns * width, 3)
