"""A game as a page: one HTML file that needs nothing else, with the moves to step through."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baselines.viewing.moves import Thought, Watched, action_names, check_kind
from tile_envs.files import write_file
from tile_envs.replay import Playthrough, Position
from tile_envs.sliding import render as sliding
from tile_envs.sliding.game import SlidingGame
from tile_envs.tictactoe import render as tictactoe
from tile_envs.tictactoe.positions import O, X

TEMPLATE = Path(__file__).with_name("page.html")
DIGITS = "0123456789abcdefghijklmnopqrstuv"
"""The digits of cells: a tile index, or 0 empty, 1 X, 2 O."""


def write_page(games: Sequence[Watched], path: Path) -> None:
    """Write games of the same rules and shape as a page; each is played to its end."""
    check_kind(games)
    look = _look(games[0].playthrough.env.game)
    data = look | {"games": [_game(each) for each in games]}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    page = TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/", text)
    write_file(path, page.encode())


def _look(game: Any) -> dict[str, Any]:
    if isinstance(game, SlidingGame):
        palette, sizes = game.rules.palette, sliding.FACE_SIZES
        labels = ["", *map(str, game.rules.faces[1:])]
        kind, ground, side, gap = "sliding", palette.board, sliding.TILE, sliding.GAP
        tiles = [
            (label, palette.tiles[tile], palette.ink(tile), sizes[min(len(label), len(sizes)) - 1])
            for tile, label in enumerate(labels)
        ]
    else:
        kind, ground, side, gap = "marks", tictactoe.PAGE, tictactoe.SQUARE, tictactoe.GAP
        marks = [("", tictactoe.PALE_INK)]
        marks += [(tictactoe.LETTERS[mark], tictactoe.INKS[mark]) for mark in (X, O)]
        tiles = [(label, tictactoe.GROUND, ink, 80) for label, ink in marks]
    names = ("label", "ground", "ink", "size")
    return {
        "shape": game.shape,
        "actions": action_names(game),
        "kind": kind,
        "ground": ground,
        "tile": side,
        "gap": gap,
        "tiles": [dict(zip(names, tile, strict=True)) for tile in tiles],
    }


def _game(watched: Watched) -> dict[str, Any]:
    played = watched.play_on()
    positions, is_sliding = played.positions, isinstance(played.env.game, SlidingGame)
    thoughts = [watched.thinker.of(position) for position in positions]
    names = list(dict.fromkeys((t.name, t.is_exact) for each in thoughts for t in each))
    scores = [position.info["score"] if is_sliding else 0 for position in positions]
    return {
        "title": watched.title,
        "about": watched.about,
        "boards": "".join(map(_digits, positions)),
        "actions": ",".join(map(str, played.actions)),
        "cells": ",".join(map(str, _new_cells(played) if is_sliding else [-1])),
        "gains": ",".join(map(str, np.diff(scores, prepend=0).tolist())),
        "words": [] if is_sliding else [_words(position) for position in positions],
        "thoughts": [
            {
                "name": name,
                "exact": is_exact,
                "values": ";".join(_values(t, name) for t in thoughts),
            }
            for name, is_exact in names
        ],
    }


def _words(position: Position) -> str:
    winner, to_play = position.info["winner"], position.info["to_play"]
    if winner:
        return f"{tictactoe.LETTERS[winner]} wins"
    return "a draw" if position.over else f"{tictactoe.LETTERS[to_play]} to play"


def _digits(position: Position) -> str:
    cells = position.state["board"].ravel().tolist()
    return "".join(DIGITS[cell % 3 if cell < 0 else cell] for cell in cells)


def _new_cells(played: Playthrough) -> list[int]:
    """Return by move the cell of the new tile, or -1 if there is none."""
    boards = np.array([position.state["board"] for position in played.positions])
    if len(boards) < 2:
        return []
    actions = np.array(played.actions)
    after = played.env.game.afterstates(boards[:-1])[0][np.arange(len(actions)), actions]
    new = (boards[1:] != after).reshape(len(actions), -1)
    return np.where(new.any(axis=1), new.argmax(axis=1), -1).tolist()  # type: ignore[no-any-return]


def _values(thoughts: Sequence[Thought], name: str) -> str:
    values = [thought.values.tolist() for thought in thoughts if thought.name == name]
    return ",".join(f"{v:.6g}" if math.isfinite(v) else "" for v in (values[0] if values else []))
