"""A person plays a game, or watches one, on any screen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

from tile_envs.errors import UsageError
from tile_envs.play.sliding import SlidingControls
from tile_envs.play.tictactoe import TicTacToeControls
from tile_envs.play.view import Controls, Screen, View
from tile_envs.playthrough import Playthrough, Position, ids
from tile_envs.rendering.window import WASD
from tile_envs.replay import replay_of, write
from tile_envs.sliding.game import SlidingGame
from tile_envs.tictactoe.game import TicTacToe

CONTROLS: dict[type, Callable[[Any, bool], Controls]] = {
    SlidingGame: SlidingControls,
    TicTacToe: TicTacToeControls,
}
"""The kinds of games that can be played.  A new one is added here."""

LEAVE = ("q", "closed")


def play(
    env: gym.Env[Any, Any],
    screen: Screen,
    seed: int,
    *,
    reset: Mapping[str, Any] | None = None,
    record: str | os.PathLike[str] | None = None,
    controls: Controls | None = None,
    left: Callable[[Playthrough], object] = lambda game: None,
) -> Playthrough:
    """Let a person play game after game, until they leave.

    Args:
        env: An environment of this package.  It is played without its wrappers, which could not be
            taken back.
        screen: The terminal or window.
        seed: The first game's seed; each new game takes the next one.
        reset: Reset options that every game starts from.
        record: The file that keeps each game as it is left.  A game without a move replaces none.
        controls: How the game is played and looked at, if not as it always is.
        left: Called with each game as it is left.

    Returns:
        The last game.
    """
    inner: Any = env.unwrapped
    controls = controls or controls_of(inner)
    keys = f"{controls.keys} · u undo · n new · q quit"
    game = Playthrough(inner, seed, reset)
    kept = False

    def keep() -> None:
        nonlocal kept
        left(game)
        if record is not None and (game.actions or not (kept or os.path.exists(record))):
            write(replay_of(game), record)
            kept = True

    try:
        while True:
            position = game.position
            screen.draw(View(controls, position, controls.words(position), keys))
            key = screen.key()
            if key in LEAVE:
                break
            if key == "u":
                game.take_back()
            elif key in ("n", "r"):
                keep()
                game = Playthrough(inner, game.seed + 1, reset)
            elif key is not None:
                action = controls.action(WASD.get(key, key) if isinstance(key, str) else key)
                if action is not None and position.info["action_mask"][action]:
                    game.play(action)
    except KeyboardInterrupt:
        pass
    finally:
        keep()
    return game


def watch(
    game: Playthrough,
    chosen: Callable[[int], int | None],
    screen: Screen,
    speed: float,
    *,
    controls: Controls | None = None,
    end: int | None = None,
    others: bool = False,
) -> bool:
    """Show a game as it goes on, until it ends and the person leaves.

    Args:
        game: The game before its first action.
        chosen: Returns the action after n moves, None at the end of the game; asked for each n
            again whenever the person goes back.
        screen: The terminal or window.
        speed: Moves per second.
        controls: How the game is looked at, if not as it always is.
        end: The number of moves, if it is known.
        others: Whether there is another game to go on with.

    Returns:
        Whether the person wants to see the next game.
    """
    controls = controls or controls_of(game.env)
    paused = False
    due = time.monotonic() + 1 / speed
    keys = f"space pause · left, right step · {'n next game · ' * others}q quit"
    while True:
        position = game.position
        n = len(game.actions)
        action = chosen(n)
        place = f"move {n:,}" if end is None else f"move {n:,} of {end:,}"
        going = None if action is None else "paused" if paused else f"{speed:g} moves/s"
        screen.draw(View(controls, position, _state(place, going, controls, position), keys))
        key = screen.key(None if paused or action is None else max(0.0, due - time.monotonic()))
        if key in LEAVE:
            return False
        if key == "n" and others:
            return True
        if key is None and action is not None:
            game.play(action)
            due = max(due, time.monotonic() - 1 / speed) + 1 / speed
        elif key == "space":
            paused, due = not paused, time.monotonic() + 1 / speed
        elif key in ("right", "d", "left", "a"):
            paused = True
            if key in ("left", "a"):
                game.take_back()
            elif action is not None:
                game.play(action)


def _state(place: str, going: str | None, controls: Controls, position: Position) -> str:
    """Return where a game that is watched stands, how it goes on, and what there is to say."""
    words, *others = controls.words(position).split("\n")
    if position.truncated:
        words = "too many illegal moves"
    return "\n".join([f"{place} · {words if going is None else going}", *others])


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
