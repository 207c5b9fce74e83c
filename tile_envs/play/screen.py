"""The screen that a person asks for: the terminal, or a window."""

from __future__ import annotations

from tile_envs.errors import UsageError
from tile_envs.play.terminal import Terminal
from tile_envs.rendering.window import Window


def opened(window: bool = False, title: str = "tile-envs") -> Terminal | Window:
    """Return the terminal as a screen, or a window.

    Args:
        window: Whether to open a window.
        title: The window's title.

    Raises:
        ExtraNotInstalled: If a window needs pygame, and it is missing.
        RuntimeError: If there is no terminal, or nobody would see the window.
    """
    if not window:
        return Terminal()
    screen = Window(fps=60, title=title)
    if not screen.visible:
        raise UsageError("no window can be opened here: there is no screen.")
    return screen
