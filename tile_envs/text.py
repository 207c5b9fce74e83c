"""Boards of the sliding games in the notations that people and programs write them in."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import brief
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding.boards import checked_tiles
from tile_envs.sliding.game import SlidingGame

ROW, WORD = re.compile(r"[/\n]"), re.compile(r"[^\s,|]+")
FACE, EMPTY = re.compile(r"[0-9]{1,19}|\."), ("0", ".")


def read_board(game: Game, text: str) -> NDArray[np.uint8]:
    """Return the board `(R, C)` of tile indices that a text shows.

    It shows faces, with 0 or a point for an empty cell, row by row: rows end with the line or a
    slash, cells with blanks, commas or bars.  Or it is one word with a hexadecimal digit for each
    cell, its tile index, row by row.

    Examples:
        >>> from tile_envs.sliding import RULES_2048
        >>> game = SlidingGame(RULES_2048, shape=(2, 2))
        >>> read_board(game, "2 4 / . 2048").tolist(), read_board(game, "120b").tolist()
        ([[1, 2], [0, 11]], [[1, 2], [0, 11]])

    Raises:
        ValueError: If it is no board of the game, or the game is tic-tac-toe.
    """
    if not isinstance(game, SlidingGame):
        raise UsageError(f"boards of the sliding games are read, not those of {game}.")
    (n_rows, n_columns), cells = game.shape, math.prod(game.shape)
    rows = [WORD.findall(row) for row in ROW.split(text)] if isinstance(text, str) else []
    words = [word for row in rows for word in row]
    is_grid = [len(row) for row in rows if row] == [n_columns] * n_rows
    if is_grid and all(map(FACE.fullmatch, words)):
        tiles = [0 if word in EMPTY else game.rules.index_of(word) for word in words]
    elif len(words) == 1 and re.fullmatch(f"[0-9a-fA-F]{{{cells}}}", words[0]):
        tiles = [int(digit, 16) for digit in words[0]]
    else:
        example = " / ".join([" ".join(["2"] + ["0"] * (n_columns - 1))] * n_rows)
        raise UsageError(
            f"expected {n_rows} rows of {n_columns} faces, such as '{example}', or {cells} "
            f"hexadecimal digits, got {brief(text)}."
        )
    return checked_tiles(np.array(tiles).reshape(game.shape), game.rules)
