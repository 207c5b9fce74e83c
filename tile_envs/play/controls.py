"""How a person plays each game, and what they see of it, on any screen."""

from tile_envs.rendering.canvas import Drawing
from tile_envs.rendering.window import Click, Key
from tile_envs.replay import Position
from tile_envs.sliding import SlidingGame
from tile_envs.sliding import render as sliding
from tile_envs.sliding.rules import ACTIONS
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe import render as tictactoe
from tile_envs.tictactoe.positions import CELL_NAMES, CELLS, SIDE

STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
"""Rows and columns that the cursor of tic-tac-toe goes."""


class Controls:
    """Keys for actions, and a game in words and drawings; with `person=False` no words say "you".

    Arrows are the actions of the sliding games.  Cells of tic-tac-toe are chosen by their number,
    by a click, or with a cursor that appears when it is used.
    """

    def __init__(self, game: SlidingGame | TicTacToe, person: bool = True) -> None:
        self._game = game
        self._neutral = not person or (isinstance(game, TicTacToe) and game.side == "both")
        self._cursor: int | None = None
        self.keys = "0-8, or arrows and Enter" if isinstance(game, TicTacToe) else "arrows or WASD"

    def action(self, key: Key) -> int | None:
        """Return what a key plays, or None if it plays nothing."""
        if isinstance(self._game, SlidingGame):
            return ACTIONS.index(key) if key in ACTIONS else None
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
        """Return the largest tile, or whose turn it is, or how the game has ended."""
        if position.truncated and not position.terminated:
            is_illegal = position.info["illegal"]
            return "too many illegal moves" if is_illegal else "no more moves are allowed"
        if isinstance(self._game, SlidingGame):
            largest = f"largest tile {position.info['max_tile']}"
            is_won = position.state["board"].max() >= self._game.last_tile
            end = "the goal is reached" if is_won else "no move is left"
            return f"Game over · {end} · {largest}" if position.over else largest
        winner, to_play = position.info["winner"], position.info["to_play"]
        if winner:
            ending = "" if self._neutral else f" · you {'won' if winner == to_play else 'lost'}"
            return f"{tictactoe.LETTERS[winner]} wins{ending}"
        if position.over:
            return "a draw"
        letter = tictactoe.LETTERS[to_play]
        return f"{letter} to play" if self._neutral else f"you play {letter}"

    def drawing(self, position: Position) -> Drawing:
        board = position.state["board"]
        if isinstance(self._game, SlidingGame):
            return sliding.drawing(board, self._game.rules, position.info["score"])
        return tictactoe.drawing(board, None if position.over else self._cursor)
