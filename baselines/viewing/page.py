"""A game as a page: one HTML file that needs nothing else, with the moves to step through.

`baselines.viewing.server` serves the same page; a person can then play on it.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baselines.viewing.moves import EXACT, MoveValues, Viewing, action_names, check_kind
from tile_envs.files import write_file
from tile_envs.game import Game
from tile_envs.play.controls import controls_of
from tile_envs.replay import Playthrough, Position
from tile_envs.sliding import render as sliding
from tile_envs.sliding.game import SlidingGame
from tile_envs.tictactoe import render as tictactoe
from tile_envs.tictactoe.positions import O, X

TEMPLATE = Path(__file__).with_name("page.html")
DIGITS = "0123456789abcdefghijklmnopqrstuv"  # of cells: a tile index, or 0 empty, 1 X, 2 O
LARGEST = 16 << 20
"""The most bytes of a question to a server: a game of a million moves fits."""


def write_page(games: Sequence[Viewing], path: Path) -> None:
    """Write games of the same rules and shape as a page; each is played to its end."""
    check_kind(games)
    write_file(path, page_of(games[0].playthrough.env.game, list(map(_whole, games))))


def page_of(game: Game, games: Sequence[dict[str, Any]], player: str = "") -> bytes:
    """Return the page of these games, in which a person plays if it is served, beside a player."""
    look = {"shape": game.shape, "actions": action_names(game), **_look(game)}
    data = look | {"games": games, "player": player, "largest": LARGEST}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c")  # no text of a game is a tag
    return TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/", text).encode()


def _look(game: Any) -> dict[str, Any]:
    if isinstance(game, SlidingGame):
        palette, sizes = game.rules.palette, sliding.FACE_SIZES
        kind, ground, side, gap = "sliding", palette.board, sliding.TILE, sliding.GAP
        labels = ["", *map(str, game.rules.faces[1:])]
        tiles = [
            (label, palette.tiles[tile], palette.ink(tile), sizes[min(len(label), len(sizes)) - 1])
            for tile, label in enumerate(labels)
        ]
    else:
        kind, ground, side, gap = "marks", tictactoe.PAGE, tictactoe.SQUARE, tictactoe.GAP
        letters, inks = tictactoe.LETTERS | {0: ""}, tictactoe.INKS | {0: tictactoe.PALE_INK}
        tiles = [(letters[mark], tictactoe.GROUND, inks[mark], 80) for mark in (0, X, O)]
    shown = [dict(zip(("label", "ground", "ink", "size"), tile, strict=True)) for tile in tiles]
    return {"kind": kind, "ground": ground, "tile": side, "gap": gap, "tiles": shown}


def _whole(viewing: Viewing) -> dict[str, Any]:
    played, about = viewing.play_on(), f"{viewing.about}, seed {viewing.seed}"
    thoughts = thoughts_of(viewing.values, played.positions)
    moves = positions_of(played, 0, len(played.actions))
    return {"title": viewing.title, "about": about, "thoughts": thoughts} | moves


def positions_of(played: Playthrough, first: int, last: int) -> dict[str, Any]:
    """Return the positions after `first` to `last` moves of a game, with the moves between."""
    before, game = max(first - 1, 0), played.env.game
    positions, actions = played.positions[before : last + 1], played.actions[before:last]
    shown = positions[first - before :]
    is_sliding, controls = isinstance(game, SlidingGame), controls_of(game, person=False)
    scores = [position.info["score"] if is_sliding else 0 for position in positions]
    masks = [0 if position.over else position.info["action_mask"] for position in shown]
    return {
        "boards": "".join(map(_digits, shown)),
        "actions": actions,
        "cells": _new_cells(game, positions, actions) if is_sliding else [],
        "gains": np.diff(scores, prepend=0)[first - before :].tolist(),
        "legal": [int(np.sum(mask << np.arange(game.n_actions))) for mask in masks],
        "words": [controls.words(p) if p.over or not is_sliding else "" for p in shown],
    }


def thoughts_of(values: MoveValues, positions: Sequence[Position]) -> list[dict[str, Any]]:
    """Return the values of the actions in positions, source by source; None for illegal ones."""
    found = [values.of(position) for position in positions]
    return [
        {
            "name": name,
            "exact": name.startswith(EXACT),
            "values": [[_rounded(v) for v in each.get(name, ())] for each in found],
        }
        for name in values.sources
    ]


def _rounded(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _digits(position: Position) -> str:
    cells = position.state["board"].ravel().tolist()
    return "".join(DIGITS[cell % 3 if cell < 0 else cell] for cell in cells)


def _new_cells(game: Game, positions: Sequence[Position], actions: Sequence[int]) -> list[int]:
    """Return by move the cell of the new tile, or -1 if there is none."""
    if not actions:
        return []
    boards = np.array([position.state["board"] for position in positions])
    after = game.afterstates(boards[:-1])[0][np.arange(len(actions)), actions]
    new = (boards[1:] != after).reshape(len(actions), -1)
    return np.where(new.any(axis=1), new.argmax(axis=1), -1).tolist()  # type: ignore[no-any-return]
