"""How a person plays each game, and what they see of it, on any screen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tile_envs.rendering.canvas import Picture, caption
from tile_envs.rendering.window import Click, Key
from tile_envs.replay import Position
from tile_envs.sliding import SlidingGame
from tile_envs.sliding import render as sliding
from tile_envs.sliding.rules import ACTIONS
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe import render as tictactoe
from tile_envs.tictactoe.positions import CELL_NAMES, CELLS, SIDE

BLOCK_WIDTH = 7
TALL_ROWS = 5
"""The most rows whose cells are three lines high: eight rows of two fit a terminal of 24 lines."""
PLAIN, BOLD = "\x1b[0m", "\x1b[1m"
STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
"""Rows and columns that the cursor of tic-tac-toe goes."""
Block = tuple[str, str, str]
"""A cell to be painted: its label, the color of the label, and that of the ground."""


class SlidingControls:
    """How a sliding game is played and shown: the arrows are the actions."""

    keys = "arrows or WASD"
    """The keys that play, for people to read."""

    def __init__(self, game: SlidingGame) -> None:
        self._rules = game.rules

    def action(self, key: Key) -> int | None:
        """Return what a key plays, or None if it plays nothing."""
        return ACTIONS.index(key) if key in ACTIONS else None

    def words(self, position: Position) -> str:
        """Return the state of the game in words, or how it has ended."""
        largest = f"largest tile {position.info['max_tile']}"
        return f"Game over · no move is left · {largest}" if position.over else largest

    def text(self, position: Position, colors: bool) -> str:
        """Return the board as lines of text, with colors or without."""
        board, score = position.state["board"], position.info["score"]
        if not colors:
            return sliding.text(board, self._rules, score)
        palette, faces = self._rules.palette, self._rules.faces
        cells = [
            [(str(faces[t]) if t else "", palette.ink(t), palette.tiles[t]) for t in row]
            for row in board.tolist()
        ]
        width = max(BLOCK_WIDTH, *(len(label) + 1 for row in cells for label, *_ in row))
        painted = blocks(cells, palette.board, width)
        return f"{sliding.heading(self._rules, score)}\n{painted}"

    def picture(self, position: Position) -> Picture:
        """Return the board as a picture."""
        return sliding.picture(position.state["board"], self._rules, position.info["score"])


class TicTacToeControls:
    """How tic-tac-toe is played and shown, by the methods of `SlidingControls`.

    Cells are chosen by their number, by a click, or with a cursor that appears when it is used.
    Where it is no `person` who plays, no sentence speaks of "you".
    """

    keys = "0-8, or arrows and Enter"

    def __init__(self, game: TicTacToe, person: bool) -> None:
        self._neutral = game.side == "both" or not person
        self._cursor: int | None = None

    def action(self, key: Key) -> int | None:
        """Return the cell that a key chooses, or None if it chooses nothing."""
        if isinstance(key, Click):
            return tictactoe.cell_at(*key)
        if key in STEPS:
            down, right = STEPS[key]
            row, column = divmod(CELLS // 2 if self._cursor is None else self._cursor, SIDE)
            self._cursor = (row + down) % SIDE * SIDE + (column + right) % SIDE
            return None
        if key in ("enter", "space"):
            return self._cursor
        return CELL_NAMES.index(key) if key in CELL_NAMES else None

    def words(self, position: Position) -> str:
        """Return whose turn it is, or how the game has ended."""
        winner, to_play = position.info["winner"], position.info["to_play"]
        if winner:
            ending = "" if self._neutral else f" · you {'won' if winner == to_play else 'lost'}"
            return f"{tictactoe.LETTERS[winner]} wins{ending}"
        if position.over:
            return "a draw"
        letter = tictactoe.LETTERS[to_play]
        return f"{letter} to play" if self._neutral else f"you play {letter}"

    def text(self, position: Position, colors: bool) -> str:
        """Return the board as lines of text, with colors or without."""
        marks, cursor = position.state["board"], self._shown_cursor(position)
        if not colors:
            return tictactoe.text(marks, cursor)
        grounds = tictactoe.grounds(marks, cursor)
        letters, inks = tictactoe.LETTERS, tictactoe.INKS
        cells = [
            (letters.get(mark, name), inks.get(mark, tictactoe.PALE_INK), ground)
            for name, mark, ground in zip(CELL_NAMES, marks.ravel().tolist(), grounds, strict=True)
        ]
        rows = [cells[first : first + SIDE] for first in range(0, CELLS, SIDE)]
        return blocks(rows, tictactoe.PAGE, BLOCK_WIDTH)

    def picture(self, position: Position) -> Picture:
        """Return the board as a picture."""
        return tictactoe.picture(position.state["board"], self._shown_cursor(position))

    def _shown_cursor(self, position: Position) -> int | None:
        return None if position.over else self._cursor


Controls = SlidingControls | TicTacToeControls


def controls_of(game: Any, person: bool = True) -> Controls:
    """Return how a person plays or watches a game; see `TicTacToeControls`."""
    is_sliding = isinstance(game, SlidingGame)
    return SlidingControls(game) if is_sliding else TicTacToeControls(game, person)


@dataclass(frozen=True)
class View:
    """A position with lines of words below it."""

    controls: Controls
    position: Position
    lines: Sequence[str]

    def text(self, colors: bool) -> str:
        """Return it as lines of text."""
        return "\n".join([self.controls.text(self.position, colors), "", *self.lines])

    def picture(self) -> Picture:
        """Return it as a picture, with the background of the board continued below it."""
        board = self.controls.picture(self.position)
        ground = "#" + board[0, 0].tobytes().hex()
        words = [caption(line, board.shape[1], ground) for line in self.lines]
        return np.concatenate([board, *words, board[-8:]])  # and a margin


def blocks(rows: Sequence[Sequence[Block]], gap: str, width: int) -> str:
    """Paint cells, `width` characters wide, on a board of the color `gap`.

    They are three lines high, or two if there are more than `TALL_ROWS` rows.
    """
    edge = _paint(" ", gap, gap)
    lines = []
    for row in rows:
        lines.append(edge.join(_paint("▄" * width, ground, gap) for _, _, ground in row))
        lines.append(edge.join(_paint(label.center(width), *colors) for label, *colors in row))
        if len(rows) <= TALL_ROWS:
            lines.append(edge.join(_paint(" " * width, *colors) for _, *colors in row))
    columns = (width + 1) * len(rows[0]) + 1
    below = f"{_color(gap, 38)}{'▀' * columns}{PLAIN}"
    return "\n".join([*(edge + line + edge for line in lines), below])


def _paint(text: str, ink: str, ground: str) -> str:
    return f"{_color(ink, 38)}{_color(ground, 48)}{BOLD}{text}{PLAIN}"


def _color(color: str, kind: int) -> str:
    """Return the sequence that sets the ink (kind 38) or the ground (48) to `#rrggbb`."""
    red, green, blue = bytes.fromhex(color[1:])
    return f"\x1b[{kind};2;{red};{green};{blue}m"
