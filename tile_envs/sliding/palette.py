"""The colors of the sliding games."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tile_envs.errors import UsageError

COLOR = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True)
class Palette:
    """The colors of a game, as `#rrggbb`.

    Attributes:
        page: The ground around the board.
        board: The board between its cells.
        dark: The text on light tiles.
        light: The text on dark tiles.
        dark_inks: The number of tiles with dark text, the smallest ones; others have light text.
        tiles: The ground of each tile index, beginning with the empty cell.

    Raises:
        ValueError: If a color is not of this form.
    """

    page: str
    board: str
    dark: str
    light: str
    dark_inks: int
    tiles: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tiles", tuple(self.tiles))
        for color in (self.page, self.board, self.dark, self.light, *self.tiles):
            if not isinstance(color, str) or not COLOR.fullmatch(color):
                raise UsageError(f"a palette holds colors such as '#faf8ef', got {color!r}.")

    def ink(self, tile: int) -> str:
        """Return the color of a tile's number."""
        return self.dark if tile <= self.dark_inks else self.light


# The colors of the original game, which has one for all tiles past 2048.
CLASSIC = Palette(
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

# Once around the color circle, from light to dark, in steps that look equal (OKLab): 31 tiles can
# be distinguished, and a larger tile is always a darker one.
RAINBOW = Palette(
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
"""The palette of games that bring none."""
