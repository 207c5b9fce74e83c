"""What a person who plays sees and presses, on any screen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from tile_envs.playthrough import Position
from tile_envs.rendering.canvas import Picture, caption
from tile_envs.rendering.window import Key

PLAIN, BOLD = "\x1b[0m", "\x1b[1m"
BOTTOM = 8
"""Lines of a board's own margin that close a picture with words below it."""


class Controls(ABC):
    """How a game is played and looked at: one class per game.

    Attributes:
        keys: The keys that play, for people to read.
    """

    keys: str

    @abstractmethod
    def action(self, key: Key) -> int | None:
        """Return what a key plays, or None if it plays nothing."""

    @abstractmethod
    def words(self, position: Position) -> str:
        """Return what there is to say: whose turn it is, or how the game has ended."""

    @abstractmethod
    def text(self, position: Position, colors: bool) -> str:
        """Return the board as lines of text, painted or not."""

    @abstractmethod
    def picture(self, position: Position) -> Picture:
        """Return the board as a picture."""


class Screen(Protocol):
    """Where a game is shown and keys come from: a terminal or a window."""

    def draw(self, view: View, /) -> None:
        """Show a view."""

    def key(self, timeout: float | None = None) -> Key | None:
        """Wait for a key, at most `timeout` seconds; return None after that."""


@dataclass(frozen=True)
class View:
    """A position with lines below it."""

    controls: Controls
    position: Position
    words: str
    keys: str

    def text(self, colors: bool) -> str:
        """Return it as lines of text."""
        board = self.controls.text(self.position, colors)
        return f"{board}\n\n{self.words}\n{self.keys}"

    def picture(self) -> Picture:
        """Return it as a picture, with the ground of the board continued below it."""
        board = self.controls.picture(self.position)
        ground = "#" + board[0, 0].tobytes().hex()
        width = board.shape[1]
        words = [*self.words.split("\n"), self.keys]
        lines = [caption(line, width, ground) for line in words]
        return np.concatenate([board, *lines, board[-BOTTOM:]])


class Block(NamedTuple):
    """A cell to be painted."""

    label: str
    ink: str
    ground: str


def blocks(rows: Sequence[Sequence[Block]], gap: str, width: int) -> str:
    """Paint cells on a board, each three lines high, with half a line between them.

    Args:
        rows: The cells.
        gap: The color of the board.
        width: The width of a cell, in characters.
    """
    edge = _paint(" ", gap, gap)
    lines = []
    for row in rows:
        lines.append(edge.join(_paint("▄" * width, cell.ground, gap) for cell in row))
        lines.append(
            edge.join(_paint(cell.label.center(width), cell.ink, cell.ground) for cell in row)
        )
        lines.append(edge.join(_paint(" " * width, cell.ink, cell.ground) for cell in row))
    columns = (width + 1) * len(rows[0]) + 1
    below = f"{_color(gap, 38)}{'▀' * columns}{PLAIN}"
    return "\n".join([*(edge + line + edge for line in lines), below])


def _paint(text: str, ink: str, ground: str) -> str:
    return f"{_color(ink, 38)}{_color(ground, 48)}{BOLD}{text}{PLAIN}"


def _color(color: str, kind: int) -> str:
    """Return the sequence that sets the ink (kind 38) or the ground (48) to `#rrggbb`."""
    red, green, blue = bytes.fromhex(color[1:])
    return f"\x1b[{kind};2;{red};{green};{blue}m"
