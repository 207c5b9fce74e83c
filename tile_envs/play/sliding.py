"""How a person plays the sliding games."""

from __future__ import annotations

from tile_envs.play.terminal import Block, blocks
from tile_envs.play.view import Controls
from tile_envs.playthrough import Position
from tile_envs.rendering.canvas import Picture
from tile_envs.rendering.window import Key
from tile_envs.sliding import render
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import ACTIONS

BLOCK_WIDTH = 7


class SlidingControls(Controls):
    """The arrows are the actions."""

    keys = "arrows or WASD"

    def __init__(self, game: SlidingGame, person: bool = True) -> None:
        self._rules = game.rules

    def action(self, key: Key) -> int | None:
        """Return what a key plays."""
        return ACTIONS.index(key) if key in ACTIONS else None

    def words(self, position: Position) -> str:
        """Return the largest tile, or that the game is over."""
        largest = f"largest tile {position.info['max_tile']}"
        return f"Game over · no move is left · {largest}" if position.over else largest

    def text(self, position: Position, colours: bool) -> str:
        """Return the board as lines of text, painted or not."""
        board, score = position.state["board"], position.info["score"]
        if not colours:
            return render.text(board, self._rules, score)
        palette = self._rules.palette
        labels = [[str(self._rules.faces[t]) if t else "" for t in row] for row in board.tolist()]
        cells = [
            [
                Block(label, palette.ink(tile), palette.tiles[tile])
                for label, tile in zip(*row, strict=True)
            ]
            for row in zip(labels, board.tolist(), strict=True)
        ]
        width = max(BLOCK_WIDTH, *(len(label) + 2 for row in labels for label in row))
        painted = blocks(cells, palette.board, width)
        return f"{render.heading(self._rules, score)}\n{painted}"

    def picture(self, position: Position) -> Picture:
        """Return the board as a picture."""
        return render.picture(position.state["board"], self._rules, position.info["score"])
