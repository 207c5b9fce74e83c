"""What the games' pictures share: a canvas with smooth edges and text that fits its box."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.errors import UsageError

Picture = NDArray[np.uint8]
"""`(H, W, 3) uint8`, red, green and blue."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""

CAPTION_HEIGHT, CAPTION_SIZE, CAPTION_INK = 26, 15, "#6d6a62"

SUPERSAMPLING = 4
BOLDNESS = 0.03
"""The stroke that is added around text, in parts of its size: the font at hand is a thin one."""


class Canvas:
    """A picture in the making, drawn larger and then shrunk, so that every edge is smooth.

    Pillow is imported when the first canvas is made: environments that draw nothing never pay.
    """

    def __init__(self, width: int, height: int, background: str) -> None:
        from PIL import Image, ImageDraw

        size = (width * SUPERSAMPLING, height * SUPERSAMPLING)
        self._image = Image.new("RGB", size, background)
        self._draw = ImageDraw.Draw(self._image)

    def rectangle(self, box: Box, radius: float, color: str) -> None:
        """Fill a rectangle with round corners."""
        left, top, right, bottom = _scaled(box)
        inclusive = (left, top, right - 1, bottom - 1)
        self._draw.rounded_rectangle(inclusive, radius * SUPERSAMPLING, color)

    def line(self, start: Point, end: Point, width: float, color: str) -> None:
        """Draw a straight line with round ends."""
        self._draw.line(_scaled((*start, *end)), color, round(width * SUPERSAMPLING))
        for x, y in (start, end):
            end_box = (x - width / 2, y - width / 2, x + width / 2, y + width / 2)
            self._draw.ellipse(_scaled(end_box), color)

    def ring(self, box: Box, width: float, color: str) -> None:
        """Draw the outline of the ellipse that fills a box."""
        self._draw.ellipse(_scaled(box), outline=color, width=round(width * SUPERSAMPLING))

    def text(self, box: Box, words: str, size: float, color: str) -> None:
        """Write one line in the middle of a box, smaller than `size` where it would not fit."""
        left, top, right, bottom = _scaled(box)
        pixels = size * SUPERSAMPLING
        width = _font(round(pixels)).getlength(words) + 2 * BOLDNESS * pixels
        fitting = max(1, round(pixels * min(1.0, (right - left) / width)))
        # Digits and capitals stand on the base line; what hangs below it should not move them.
        digit_height = -_font(fitting).getbbox("0", anchor="ls")[1]
        self._draw.text(
            ((left + right) / 2, (top + bottom + digit_height) / 2),
            words,
            color,
            _font(fitting),
            anchor="ms",
            stroke_width=int(BOLDNESS * fitting),
        )

    def picture(self) -> Picture:
        """Return what has been drawn, as a fresh array."""
        return np.array(self._image.reduce(SUPERSAMPLING))


def grid(rows: Sequence[Sequence[str]]) -> str:
    """Draw a table of cells that are all equally wide.

    Examples:
        >>> print(grid([["2 ", "  "], ["16", "4 "]]))
        ┌────┬────┐
        │ 2  │    │
        ├────┼────┤
        │ 16 │ 4  │
        └────┴────┘
    """
    bars = ["─" * (len(cell) + 2) for cell in rows[0]]
    top, middle, bottom = (
        left + cross.join(bars) + right for left, cross, right in ("┌┬┐", "├┼┤", "└┴┘")
    )
    lines = [f"│ {' │ '.join(row)} │" for row in rows]
    return "\n".join([top, f"\n{middle}\n".join(lines), bottom])


def caption(words: str, width: int, ground: str) -> Picture:
    """Return a strip with one line of text."""
    canvas = Canvas(width, CAPTION_HEIGHT, ground)
    canvas.text((8, 0, width - 8, CAPTION_HEIGHT), words, CAPTION_SIZE, CAPTION_INK)
    return canvas.picture()


def shrunk(picture: Picture, factor: float) -> Picture:
    """Return a picture in a smaller size; as it is, if the factor is 1 or more."""
    if factor >= 1:
        return picture
    from PIL import Image

    height, width = picture.shape[:2]
    size = round(width * factor), round(height * factor)
    return np.array(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))


@cache
def _font(pixels: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(pixels)


def _scaled(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple(number * SUPERSAMPLING for number in numbers)


def picture_grid(pictures: Sequence[Picture], columns: int | None = None) -> Picture:
    """Put pictures of one size together, row by row, by default in about a square.

        picture = picture_grid(envs.render())  # of gym.make_vec(id, 64, render_mode="rgb_array")

    Returns:
        `(rows * H, columns * W, 3) uint8`, white where pictures are lacking.

    Raises:
        ValueError: If there is no picture, or `columns` is no positive integer.
    """
    if not pictures:
        raise UsageError('pictures must be one or more: make games with render_mode="rgb_array".')
    columns = math.isqrt(len(pictures) - 1) + 1 if columns is None else columns
    if not (isinstance(columns, int) and columns > 0):
        raise UsageError(f"columns must be a positive integer, got {columns!r}.")
    rows, (height, width, _) = -(-len(pictures) // columns), pictures[0].shape
    whole = np.full((rows, height, columns, width, 3), 255, np.uint8)
    for i, picture in enumerate(pictures):
        whole[i // columns, :, i % columns] = picture
    return whole.reshape(rows * height, columns * width, 3)
