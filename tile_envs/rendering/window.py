"""A window that shows pictures, and reports the keys and buttons that a person presses."""

import os
import time
from contextlib import AbstractContextManager
from typing import NamedTuple

from tile_envs.errors import UsageError, extra
from tile_envs.rendering.canvas import Drawing, Picture, shrink

POLL = 0.05  # seconds between checks for a key, so that Ctrl-C in the terminal is noticed
SHARE = 0.88  # of the screen, that a window takes at most, so that there is room for its frame


class Click(NamedTuple):
    """A press of a mouse button, in pixels of the picture that is shown."""

    x: int
    y: int


Key = str | Click
"""A character in lower case, a name of `NAMED_KEYS`, `closed` at the end of input, or a click."""
NAMED_KEYS = ("up", "right", "down", "left", "enter", "space")
WASD: dict[Key, Key] = {"w": "up", "a": "left", "s": "down", "d": "right"}


class Window(AbstractContextManager["Window"]):
    """A window, opened when the first picture is shown.

    When a person closes it, it stays closed, and `show` does nothing, so that training goes on.
    """

    def __init__(self, fps: int, title: str = "tile-envs") -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        with extra("render"):
            import pygame
        self._fps, self._title, self._scale, self.closed = fps, title, 1.0, False
        self._pygame, self._clock = pygame, pygame.time.Clock()
        try:
            pygame.display.init()
        except pygame.error as error:
            raise UsageError(f"no window can be opened here: {error}.") from None
        self.visible = pygame.display.get_driver() != "offscreen"  # where SDL draws into memory

    def __exit__(self, *exception: object) -> None:
        self.close()

    def show(self, picture: Picture) -> None:
        """Show a picture, handle the window's events, and wait for the frame rate, `fps`."""
        if not self.closed:
            self._put(picture)
            while self.key(0) not in (None, "closed"):
                pass  # nobody plays here: only closing the window counts
            self._clock.tick(self._fps)

    def draw(self, drawing: Drawing) -> None:
        """Show a drawing at once, leaving keys and clicks to `key`."""
        if not self.closed:
            self._put(drawing.picture())

    def _put(self, picture: Picture) -> None:
        display = self._pygame.display
        display.init()
        room = display.get_desktop_sizes()[0]
        sides = zip(room, picture.shape[1::-1], strict=True)
        self._scale = min(1.0, *(SHARE * most / side for most, side in sides))
        picture = shrink(picture, self._scale)
        surface, size = display.get_surface(), picture.shape[1::-1]
        # pygame has one window per process: another environment may have closed or resized it.
        if surface is None or surface.get_size() != size:
            surface = display.set_mode(size)
            display.set_caption(self._title)
        self._pygame.surfarray.blit_array(surface, picture.swapaxes(0, 1))
        display.flip()

    def key(self, timeout: float | None = None) -> Key | None:
        """Wait for a key or a click, at most `timeout` seconds, and return None after them."""
        pygame = self._pygame
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.closed and pygame.display.get_init():
            rest = POLL if deadline is None else min(POLL, deadline - time.monotonic())
            event = pygame.event.wait(max(1, round(rest * 1000)))  # 0 would be one for ever
            if event.type == pygame.QUIT:
                self.close()
            elif event.type == pygame.KEYDOWN:
                name: str = pygame.key.name(event.key).replace("return", "enter")
                return name if name in NAMED_KEYS else str(event.unicode.lower())
            elif event.type == pygame.MOUSEBUTTONDOWN and event.button == pygame.BUTTON_LEFT:
                return Click(*(round(place / self._scale) for place in event.pos))
            elif event.type == pygame.WINDOWEXPOSED:
                pygame.display.flip()
            elif event.type == pygame.NOEVENT and rest <= 0:
                return None
        return "closed"

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._pygame.display.quit()
