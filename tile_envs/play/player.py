"""A person plays a game, or watches one, on any screen."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tile_envs.base.env import GameEnv
from tile_envs.errors import UsageError
from tile_envs.play.controls import Controls
from tile_envs.play.terminal import Terminal
from tile_envs.rendering.window import WASD, Window
from tile_envs.replay import Playthrough, Position, replay_of, write

Screen = Terminal | Window
Hints = Callable[[Position], Sequence[str]]
"""Returns the lines that are shown below a position."""
LEAVE = ("q", "closed")


def open_screen(window: bool = False, title: str = "tile-envs") -> Screen:
    """Return the terminal as a screen, or a window; refuse what nobody would see."""
    screen = Window(fps=60, title=title) if window else Terminal()
    if isinstance(screen, Window) and not screen.visible:
        raise UsageError("no window can be opened here: there is no screen.")
    return screen


@contextmanager
def leaving_by_ctrl_c() -> Iterator[None]:
    """End the block at Ctrl-C; an interrupt of another kind, such as one for SIGTERM, goes on."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if type(interrupt) is not KeyboardInterrupt:
            raise


def play_games(
    env: GameEnv[Any, Any],
    screen: Screen,
    seed: int,
    *,
    record: Path | None = None,
    hints: Hints = lambda position: (),
    on_leave: Callable[[Playthrough], object] = lambda game: None,
) -> Playthrough:
    """Let a person play one game after another, until they leave; return the last one.

    Each new game takes the next seed.  Those that the person leaves are written to the file
    `record`, where a game without moves replaces none, and handed to `on_leave`.
    """
    controls, game = Controls(env.game), Playthrough(env, seed)

    def leave() -> None:
        on_leave(game)
        if record is not None and (game.actions or not record.exists()):
            write(replay_of(game), record)

    try:
        with leaving_by_ctrl_c():
            while True:
                position, keys = game.position, f"{controls.keys} · u undo · n new · q quit"
                lines = [controls.words(position), *hints(position), keys]
                screen.draw(controls.drawing(position)._replace(lines=lines))
                key = screen.key()
                if key in LEAVE:
                    break
                if key == "u":
                    game.take_back()
                elif key in ("n", "r"):
                    leave()
                    game = Playthrough(env, game.seed + 1)
                elif key is not None:
                    action = controls.action(WASD.get(key, key))
                    legal = () if position.over else np.flatnonzero(position.info["action_mask"])
                    if action is not None and action in legal:
                        game.play(action)
    finally:
        leave()
    return game


def watch_game(
    game: Playthrough,
    chosen: Callable[[int], int | None],
    screen: Screen,
    speed: float,
    *,
    hints: Hints = lambda position: (),
    person: bool = True,
    end: int | None = None,
    more: bool = False,
) -> bool:
    """Show a game move by move, until the person leaves; return whether to show the next one.

    The game is before its first action.  `chosen` returns the action after n moves, None at the
    end; it is called again after steps back.  `end` is the number of moves, if it is known, and
    `more` says whether another game follows.  `person=False`: texts avoid "you".
    """
    controls = Controls(game.env.game, person)
    paused, due = False, time.monotonic() + 1 / speed
    keys = f"space pause · left, right step · {'n next game · ' if more else ''}q quit"
    while True:
        position, n = game.position, len(game.actions)
        action = chosen(n)
        words = controls.words(position)
        if action is not None:
            words = "paused" if paused else f"{speed:g} moves/s"
        of_end = "" if end is None else f" of {end:,}"
        lines = [f"move {n:,}{of_end} · {words}", *hints(position), keys]
        screen.draw(controls.drawing(position)._replace(lines=lines))
        key = screen.key(None if paused or action is None else max(0.0, due - time.monotonic()))
        if key in LEAVE:
            return False
        if key == "n" and more:
            return True
        if key is None and action is not None:
            game.play(action)
            due = max(due, time.monotonic() - 1 / speed) + 1 / speed
        elif key == "space":
            paused, due = not paused, time.monotonic() + 1 / speed
        elif key in ("left", "a"):
            paused = True
            game.take_back()
        elif key in ("right", "d"):
            paused = True
            if action is not None:
                game.play(action)
