"""A window that shows pictures, and reports the keys and buttons that a person presses."""

from __future__ import annotations

import math
import os
import time
from typing import Any, NamedTuple

from tile_envs.errors import UsageError, extra
from tile_envs.rendering.canvas import Picture, shrunk

POLL = 0.05
"""Seconds between checks while waiting for a key, so that Ctrl-C in the terminal is noticed."""
SHARE = 0.88
"""The part of the screen that a window takes at most, so that there is room for its frame."""


class Click(NamedTuple):
    """A press of a mouse button, in pixels of the picture that is shown."""

    x: int
    y: int


Key = str | Click
"""A character in lower case; `up`, `right`, `down`, `left`, `enter`, `space`; `closed` at the
end of input; or a click."""

NAMED_KEYS = {name: name for name in ("up", "right", "down", "left", "enter", "space")}
NAMED_KEYS["return"] = "enter"
"""Keys that are told by name, not by their character; by pygame's names for them."""

WASD: dict[Key, Key] = {"w": "up", "a": "left", "s": "down", "d": "right"}
"""The letters that stand for arrows."""


class Window:
    """A window, opened when the first picture is shown.

    A person may close it at any time; it stays closed then, and `show` does nothing, so that
    training goes on.

    Attributes:
        fps: The highest frame rate of `show`.
        closed: Whether the window has been closed, by a person or by `close`.
    """

    def __init__(self, fps: int, title: str = "tile-envs") -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        with extra("render"):
            import pygame
        self.fps = fps
        self.closed = False
        self._title = title
        self._scale = 1.0
        self._pygame = pygame
        self._clock = pygame.time.Clock()
        try:
            pygame.display.init()
        except pygame.error as error:
            raise UsageError(f"no window can be opened here: {error}.") from None

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def visible(self) -> bool:
        """Whether a person can see it: without a screen SDL may draw into memory instead."""
        return not self.closed and self._pygame.display.get_driver() != "offscreen"

    def show(self, picture: Picture) -> None:
        """Show a picture, handle the window's events, and wait as the frame rate asks."""
        if self.closed:
            return
        self._put(picture)
        while self.key(0) not in (None, "closed"):
            pass  # nobody plays here: only closing the window counts
        self._clock.tick(self.fps)

    def draw(self, view: Any) -> None:
        """Show the `picture()` of a view at once, leaving keys and clicks to `key`."""
        if not self.closed:
            self._put(view.picture())

    def _put(self, picture: Picture) -> None:
        display = self._pygame.display
        display.init()
        room = display.get_desktop_sizes()[0]
        sides = zip(room, picture.shape[1::-1], strict=True)
        self._scale = min(1.0, *(SHARE * most / side for most, side in sides))
        picture = shrunk(picture, self._scale)
        size = picture.shape[1::-1]
        surface = display.get_surface()
        # pygame has one window per process: another environment may have closed or resized it.
        if surface is None or surface.get_size() != size:
            surface = display.set_mode(size)
            display.set_caption(self._title)
        self._pygame.surfarray.blit_array(surface, picture.swapaxes(0, 1))
        display.flip()

    def key(self, timeout: float | None = None) -> Key | None:
        """Wait for a key or a click, at most `timeout` seconds.

        Returns:
            The key or click; `closed` if the window is closed; None after the timeout.
        """
        pygame = self._pygame
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.closed and pygame.display.get_init():
            rest = POLL if deadline is None else min(POLL, deadline - time.monotonic())
            # A wait of zero would be one for ever.
            event = pygame.event.wait(math.ceil(rest * 1000)) if rest > 0 else pygame.event.poll()
            if event.type == pygame.QUIT:
                self.close()
            elif event.type == pygame.KEYDOWN:
                character: str = event.unicode.lower()
                return NAMED_KEYS.get(pygame.key.name(event.key), character)
            elif event.type == pygame.MOUSEBUTTONDOWN and event.button == pygame.BUTTON_LEFT:
                return Click(*(round(place / self._scale) for place in event.pos))
            elif event.type == pygame.WINDOWEXPOSED:
                pygame.display.flip()
            elif event.type == pygame.NOEVENT and rest <= 0:
                return None
        return "closed"

    def close(self) -> None:
        """Close the window."""
        if not self.closed:
            self.closed = True
            self._pygame.display.quit()
