"""How a person plays each game, and how it is shown to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_envs.errors import UsageError
from tile_envs.games import ids
from tile_envs.play.view import Block, Controls, blocks
from tile_envs.playthrough import Position
from tile_envs.rendering.canvas import Picture
from tile_envs.rendering.window import Click, Key
from tile_envs.sliding import SlidingGame
from tile_envs.sliding import render as sliding
from tile_envs.sliding.rules import ACTIONS
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe import render as tictactoe
from tile_envs.tictactoe.positions import CELL_NAMES, CELLS, SIDE

BLOCK_WIDTH = 7
MIDDLE = CELLS // 2
STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
"""Rows and columns that the cursor of tic-tac-toe goes."""


class _SlidingControls(Controls):
    """The arrows are the actions."""

    keys = "arrows or WASD"

    def __init__(self, game: SlidingGame, person: bool = True) -> None:
        self._rules = game.rules

    def action(self, key: Key) -> int | None:
        return ACTIONS.index(key) if key in ACTIONS else None

    def words(self, position: Position) -> str:
        largest = f"largest tile {position.info['max_tile']}"
        return f"Game over · no move is left · {largest}" if position.over else largest

    def text(self, position: Position, colors: bool) -> str:
        board, score = position.state["board"], position.info["score"]
        if not colors:
            return sliding.text(board, self._rules, score)
        palette, faces = self._rules.palette, self._rules.faces
        cells = [
            [Block(str(faces[t]) if t else "", palette.ink(t), palette.tiles[t]) for t in row]
            for row in board.tolist()
        ]
        width = max(BLOCK_WIDTH, *(len(cell.label) + 2 for row in cells for cell in row))
        painted = blocks(cells, palette.board, width)
        return f"{sliding.heading(self._rules, score)}\n{painted}"

    def picture(self, position: Position) -> Picture:
        return sliding.picture(position.state["board"], self._rules, position.info["score"])


class _TicTacToeControls(Controls):
    """Cells are chosen by their number, by a click, or with a cursor that comes when it is used."""

    keys = "0-8, or arrows and Enter"

    def __init__(self, game: TicTacToe, person: bool = True) -> None:
        self._neutral = game.side == "both" or not person
        self._cursor: int | None = None

    def action(self, key: Key) -> int | None:
        if isinstance(key, Click):
            return tictactoe.cell_at(*key)
        if key in STEPS:
            down, right = STEPS[key]
            row, column = divmod(MIDDLE if self._cursor is None else self._cursor, SIDE)
            self._cursor = (row + down) % SIDE * SIDE + (column + right) % SIDE
            return None
        if key in ("enter", "space"):
            return self._cursor
        return CELL_NAMES.index(key) if key in CELL_NAMES else None

    def words(self, position: Position) -> str:
        winner, to_play = position.info["winner"], position.info["to_play"]
        if winner:
            ending = "" if self._neutral else f" · you {'won' if winner == to_play else 'lost'}"
            return f"{tictactoe.LETTERS[winner]} wins{ending}"
        if position.over:
            return "a draw"
        letter = tictactoe.LETTERS[to_play]
        return f"{letter} to play" if self._neutral else f"you play {letter}"

    def text(self, position: Position, colors: bool) -> str:
        marks, cursor = position.state["board"], self._shown_cursor(position)
        if not colors:
            return tictactoe.text(marks, cursor)
        grounds = tictactoe.grounds(marks, cursor)
        letters, inks = tictactoe.LETTERS, tictactoe.INKS
        cells = [
            Block(letters.get(mark, name), inks.get(mark, tictactoe.PALE_INK), ground)
            for name, mark, ground in zip(CELL_NAMES, marks.ravel().tolist(), grounds, strict=True)
        ]
        rows = [cells[first : first + SIDE] for first in range(0, CELLS, SIDE)]
        return blocks(rows, tictactoe.PAGE, BLOCK_WIDTH)

    def picture(self, position: Position) -> Picture:
        return tictactoe.picture(position.state["board"], self._shown_cursor(position))

    def _shown_cursor(self, position: Position) -> int | None:
        return None if position.over else self._cursor


CONTROLS: dict[type, Callable[[Any, bool], Controls]] = {
    SlidingGame: _SlidingControls,
    TicTacToe: _TicTacToeControls,
}
"""The controls of each kind of game.  A new kind is added here."""


def controls_of(env: Any, person: bool = True) -> Controls:
    """Return how a person plays an environment.

    Args:
        env: The environment.
        person: Whether it is a person who plays; else games are told of as somebody else's.

    Raises:
        ValueError: If it is no game of this package.
    """
    controls = CONTROLS.get(type(getattr(env, "game", None)))
    if controls is None:
        raise UsageError(f"{env} cannot be played here: expected one of {', '.join(ids())}.")
    return controls(env.game, person)
