"""How a person plays tic-tac-toe."""

from __future__ import annotations

from tile_envs.play.terminal import Block, blocks
from tile_envs.play.view import Controls
from tile_envs.playthrough import Position
from tile_envs.rendering.canvas import Picture
from tile_envs.rendering.window import Click, Key
from tile_envs.tictactoe import render
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELL_NAMES, CELLS, SIDE

MIDDLE = CELLS // 2
STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
"""Rows and columns that the cursor goes."""

BLOCK_WIDTH = 7


class TicTacToeControls(Controls):
    """Cells are chosen by their number, by a click, or with a cursor that comes when it is used."""

    keys = "0-8, or arrows and Enter"

    def __init__(self, game: TicTacToe, person: bool = True) -> None:
        self._neutral = game.side == "both" or not person
        self._cursor: int | None = None

    def action(self, key: Key) -> int | None:
        """Return what a key plays; an arrow moves the cursor."""
        if isinstance(key, Click):
            return render.cell_at(*key)
        if key in STEPS:
            down, right = STEPS[key]
            row, column = divmod(MIDDLE if self._cursor is None else self._cursor, SIDE)
            self._cursor = (row + down) % SIDE * SIDE + (column + right) % SIDE
            return None
        if key in ("enter", "space"):
            return self._cursor
        return CELL_NAMES.index(key) if key in CELL_NAMES else None

    def words(self, position: Position) -> str:
        """Return whose turn it is, or who has won."""
        winner, to_play = position.info["winner"], position.info["to_play"]
        if winner:
            line = f"{render.LETTERS[winner]} wins"
            return line if self._neutral else f"{line} · you {_verb(winner == to_play)}"
        if position.over:
            return "a draw"
        letter = render.LETTERS[to_play]
        return f"{letter} to play" if self._neutral else f"you play {letter}"

    def text(self, position: Position, colours: bool) -> str:
        """Return the board as lines of text, painted or not."""
        marks, cursor = position.state["board"], self._shown_cursor(position)
        if not colours:
            return render.text(marks, cursor)
        cells = [
            Block(
                render.LETTERS.get(mark, CELL_NAMES[cell]),
                render.INKS.get(mark, render.PALE_INK),
                ground,
            )
            for cell, (mark, ground) in enumerate(
                zip(marks.ravel().tolist(), render.grounds(marks, cursor), strict=True)
            )
        ]
        rows = [cells[first : first + SIDE] for first in range(0, CELLS, SIDE)]
        return blocks(rows, render.PAGE, BLOCK_WIDTH)

    def picture(self, position: Position) -> Picture:
        """Return the board as a picture."""
        return render.picture(position.state["board"], self._shown_cursor(position))

    def _shown_cursor(self, position: Position) -> int | None:
        return None if position.over else self._cursor


def _verb(won: bool) -> str:
    return "won" if won else "lost"
