"""A game as a page: one HTML file that needs nothing else, with the moves to step through.

Served on this machine, a person plays on it, and asks an agent for values of moves.  A game is its
seed, its reset options and its actions.  Every question holds them, so that the server need not
know what pages show, and any number of them can be open.
"""

import json
import math
import re
import sys
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from baselines.viewing import moves
from baselines.viewing.moves import MoveValues, Viewing
from tile_envs import replay
from tile_envs.base.checks import brief, checked_integer, checked_seed
from tile_envs.errors import UsageError, is_mistake, message_of
from tile_envs.files import write_file
from tile_envs.game import Boards, Game, describe
from tile_envs.play.controls import Controls
from tile_envs.play.player import leaving_by_ctrl_c
from tile_envs.replay import Playthrough, Position
from tile_envs.sliding import render as sliding
from tile_envs.sliding.game import SlidingGame
from tile_envs.tictactoe import render as tictactoe
from tile_envs.tictactoe.positions import O, X

TEMPLATE = Path(__file__).with_name("page.html")
DIGITS = "0123456789abcdefghijklmnopqrstuv"  # of cells: a tile index, or 0 empty, 1 X, 2 O
LARGEST = 16 << 20  # bytes of a question to a server: a game of a million moves fits
HOSTS = ("127.0.0.1", "localhost")  # the address of this machine alone, and its name


def write_page(games: Sequence[Viewing], path: Path) -> None:
    """Write games of the same rules and shape as a page; each is played to its end."""
    moves.check_kind(games)
    shown = list[dict[str, Any]]()
    for viewing in games:
        played, about = viewing.play_on(), f"{viewing.about}, seed {viewing.seed}"
        thoughts = thoughts_of(viewing.values, played.positions)
        head = {"title": viewing.title, "about": about, "thoughts": thoughts}
        shown.append(head | positions_of(played, 0, len(played.actions)))
    write_file(path, page_of(games[0].playthrough.env.game, shown))


def page_of(game: Game, games: Sequence[dict[str, Any]], player: str = "") -> bytes:
    """Return the page of these games, in which a person plays if it is served, beside a player."""
    look = {"shape": game.shape, "actions": moves.action_names(game), **_look(game)}
    if isinstance(game, SlidingGame):
        look["merges"] = [f"{nearer},{other}" for nearer, other, _ in game.rules.merges]
    data = look | {"games": games, "player": player, "largest": LARGEST}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c")  # no text of a game is a tag
    return TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/", text).encode()


def _look(game: Any) -> dict[str, Any]:
    if isinstance(game, SlidingGame):
        palette, sizes = game.rules.palette, sliding.FACE_SIZES
        kind, ground, side, gap = "sliding", palette.board, sliding.TILE, sliding.GAP
        tiles = [
            (label, palette.tiles[tile], palette.ink(tile), sizes[min(len(label), len(sizes)) - 1])
            for tile, label in enumerate(["", *map(str, game.rules.faces[1:])])
        ]
    else:
        kind, ground, side, gap = "marks", tictactoe.PAGE, tictactoe.SQUARE, tictactoe.GAP
        letters, inks = tictactoe.LETTERS | {0: ""}, tictactoe.INKS | {0: tictactoe.PALE_INK}
        tiles = [(letters[mark], tictactoe.GROUND, inks[mark], 80) for mark in (0, X, O)]
    shown = [dict(zip(("label", "ground", "ink", "size"), tile, strict=True)) for tile in tiles]
    return {"kind": kind, "ground": ground, "tile": side, "gap": gap, "tiles": shown}


def positions_of(played: Playthrough, first: int, last: int) -> dict[str, Any]:
    """Return the positions after `first` to `last` moves of a game, with the moves between."""
    before, game = max(first - 1, 0), played.env.game
    positions, actions = played.positions[before : last + 1], played.actions[before:last]
    shown = positions[first - before :]
    boards = np.array([position.state["board"] for position in positions])
    cells = np.where(boards < 0, 2, boards)[first - before :].ravel().tolist()
    is_sliding, controls = isinstance(game, SlidingGame), Controls(game, person=False)
    scores = [position.info["score"] if is_sliding else 0 for position in positions]
    masks = [0 if position.over else position.info["action_mask"] for position in shown]
    return {
        "boards": "".join(DIGITS[cell] for cell in cells),
        "actions": actions,
        "cells": _new_cells(game, boards, actions) if is_sliding else [],
        "gains": np.diff(scores, prepend=0)[first - before :].tolist(),
        "legal": [int(np.sum(mask << np.arange(game.n_actions))) for mask in masks],
        "words": [controls.words(p) if p.over or not is_sliding else "" for p in shown],
    }


def thoughts_of(values: MoveValues, positions: Sequence[Position]) -> list[dict[str, Any]]:
    """Return the values of the actions in positions, source by source; None for illegal ones."""
    thoughts, found = list[dict[str, Any]](), [values.of(position) for position in positions]
    for name in values.sources:
        rows = [each.get(name, ()) for each in found]
        told = [[float(f"{v:.6g}") if math.isfinite(v) else None for v in row] for row in rows]
        thoughts.append({"name": name, "exact": name.startswith(moves.EXACT), "values": told})
    return thoughts


def _new_cells(game: Game, boards: Boards, actions: Sequence[int]) -> list[int]:
    """Return by move the cell of the new tile, or -1 if there is none."""
    if not actions:
        return []
    after = game.afterstates(boards[:-1])[0][np.arange(len(actions)), actions]
    new = (boards[1:] != after).reshape(len(actions), -1)
    return np.where(new.any(axis=1), new.argmax(axis=1), -1).tolist()  # type: ignore[no-any-return]


class Server(ThreadingHTTPServer):
    """Answers the page, at `address`, and its questions about a game, on this machine alone.

    Seeds are texts, since a browser's numbers have 53 bits.  Port 0 is any that is free.
    """

    def __init__(self, viewing: Viewing, port: int = 0) -> None:
        assert viewing.player is not None
        self._about, self._values, self._player = viewing.about, viewing.values, viewing.player
        self._game = viewing.playthrough  # the last one that was asked for, which goes on
        self._playing, self._thinking = Lock(), Lock()
        first = {"seed": str(self._game.seed), "reset": {}, "actions": [], "first": 0}
        self.page = page_of(self._game.env.game, [self.play(first)], self._player.name)
        try:
            super().__init__((HOSTS[0], port), _Handler)
        except OSError as error:
            reason = f"port {port} cannot be used ({error.strerror})"
            raise UsageError(f"{reason}: give another --port, or 0 for any free one.") from None
        self.address = f"http://{HOSTS[0]}:{self.server_port}/"

    def play(self, asked: Any) -> dict[str, Any]:
        """Return the positions from `first` on of the game in which actions are played."""
        with self._playing:
            game, n = self._played(asked)
            first = checked_integer(asked.get("first"), "first", most=n)
            found = positions_of(game, first, n)
        if first == 0:
            found["start"] = {"seed": asked["seed"], "reset": asked["reset"]}
            found["title"] = f"{game.env.game.name}, with {self._player.name}"
            found["about"] = f"{self._about}, seed {asked['seed']}"
        return found

    def think(self, asked: Any) -> dict[str, Any]:
        """Return the values after actions, and what the player plays, as in a first position."""
        with self._playing:
            game, n = self._played(asked)
            position = game.positions[n]
        if position.over:
            return {"thoughts": [], "chosen": None}
        with self._thinking:
            thoughts = thoughts_of(self._values, [position])
            chosen, _ = moves.ask(self._player.agent, position, state=None, is_first=True)
        return {"thoughts": thoughts, "chosen": chosen}

    def replay(self, asked: Any) -> dict[str, Any]:
        """Return the game of a replay, `text`, which a file of a `name` holds."""
        name, text = _entries(asked, name=str, text=str)
        recorded = replay.parse(text.encode(errors="replace"), name)
        theirs, ours = map(describe, (replay.begin(recorded).env.game, self._game.env.game))
        if theirs != ours:
            raise UsageError(f"{name} is of another game, {theirs}: this page plays {ours}.")
        start = {"seed": str(recorded.seed), "reset": recorded.reset, "first": 0}
        title = moves.title_of(recorded, name.removesuffix(".json"))
        return self.play(start | {"actions": [*recorded.actions]}) | {"title": title}

    def save(self, asked: Any) -> dict[str, Any]:
        """Return the `text` of a replay file of the game in which actions are played."""
        with self._playing:
            game, n = self._played(asked)
            recorded = replace(replay.replay_of(game), actions=tuple(game.actions[:n]))
        return {"text": replay.dump(recorded).decode()}

    def _played(self, asked: Any) -> tuple[Playthrough, int]:
        """Return a game in which actions have been played, and maybe others after them."""
        seed, reset, actions = _entries(asked, seed=str, reset=dict, actions=list)
        start = checked_seed(int(seed) if re.fullmatch(r"\d{1,999}", seed) else seed), reset
        game = self._game
        if (game.seed, game.reset) != start:
            game = self._game = Playthrough(game.env, *start)
        pairs = enumerate(zip(game.actions, actions, strict=False))
        begun = next((n for n, (was, now) in pairs if was != now), len(game.actions))
        for _ in game.actions[begun:]:
            game.take_back()
        for action in actions[len(game.actions) :]:
            game.play(action)
        return game, len(actions)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show where an agent has failed; not that a page has been left."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 30.0  # seconds for which a question may be under way

    def do_GET(self) -> None:
        if self._accepts(self.path == "/"):
            self._answer(200, "text/html; charset=utf-8", self.server.page)

    def do_POST(self) -> None:
        asked, length = self.server, self.headers.get("Content-Length", "")
        answers = {f"/{a.__name__}": a for a in (asked.play, asked.think, asked.replay, asked.save)}
        if not self._accepts(self.path in answers):
            return
        found, status = {"error": f"a question has at most {LARGEST:,} bytes."}, 413
        if re.fullmatch(r"\d{1,9}", length) and int(length) <= LARGEST:
            try:
                found, status = answers[self.path](json.loads(self.rfile.read(int(length)))), 200
            except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
                found, status = {"error": f"a question is JSON: {error}."}, 400
            except Exception as error:  # another ends the connection, and the terminal shows where
                if not is_mistake(error):
                    raise
                found, status = {"error": message_of(error)}, 400
        self._answer(status, "application/json", json.dumps(found).encode())
        # A client reads the answer to a large question once all of it, up to a GiB, is taken.
        for _ in range(1 << 14 if status == 413 else 0):
            if not self.rfile.read1(1 << 16):
                break

    def _accepts(self, is_there: bool) -> bool:
        """Refuse what is not there, and pages from elsewhere, even under a name for this host."""
        host, origin = self.headers.get("Host", "").lower(), self.headers.get("Origin")
        is_own = re.sub(r"\.?(:\d+)?$", "", host) in HOSTS and origin in (None, f"http://{host}")
        if not (is_own and is_there):
            self.send_error(404 if is_own else 403)
        return is_own and is_there

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of questions."""


def _entries(asked: Any, **kinds: type[Any]) -> list[Any]:
    """Return the entries of a question that have these names and types."""
    found = [asked.get(name) for name in kinds] if isinstance(asked, dict) else []
    if not found or not all(map(isinstance, found, kinds.values())):
        raise UsageError(f"expected {', '.join(kinds)} of a game, got {brief(asked)}.")
    return found


def serve_page(viewing: Viewing, port: int) -> None:
    """Answer the page of a player until Ctrl-C; open it, if there is a browser with windows."""
    with Server(viewing, port) as server, leaving_by_ctrl_c():
        print(f"{server.address} is the page to play on; Ctrl-C ends it.", flush=True)
        with suppress(webbrowser.Error):
            # One in this terminal would take it, and the page would wait.
            if type(webbrowser.get()) is not webbrowser.GenericBrowser:
                webbrowser.open(server.address)
        server.serve_forever()
