"""The terminal as a screen: single keys, colored tiles, and everything put back on leaving."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import textwrap
import time

from tile_envs.errors import UsageError
from tile_envs.play.controls import View

if sys.platform == "win32":
    import msvcrt
else:
    import select
    import termios
    import tty

STDIN, STDOUT = 0, 1

OPEN = "\x1b[?1049h\x1b[?25l\x1b[?7l"  # the second screen; no cursor; long lines are cut
CLOSE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
HOME, CLEAR_LINE, CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"

ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
KEY_NAMES = {
    **{f"\x1b{lead}{letter}": name for lead in "[O" for letter, name in ARROWS.items()},
    "\r": "enter",
    "\n": "enter",
    " ": "space",
    "\x03": "closed",  # Ctrl-C, where it is not a signal
    "\x04": "closed",  # Ctrl-D
}
KEY = re.compile(r"\x1b+(?:\[\[.|\[[0-?]*[ -/]*[@-~]|O.|[^\x1b[O])?|.", re.DOTALL)
"""What one key sends; of the many that begin with an escape, only the arrows have a name."""
UNFINISHED = re.compile(r"\x1b+(?:\[\[?|\[[0-?]+[ -/]*|O)?")
POLL = 0.5
"""Seconds between checks while waiting: a signal that comes just before it does not end it."""


class Terminal:
    """The terminal as a screen, in a `with` statement.

    Attributes:
        colors: Whether to use colors; false if the environment variable NO_COLOR is set.
    """

    def __init__(self) -> None:
        if not (os.isatty(STDIN) and os.isatty(STDOUT)):
            raise UsageError("this needs a terminal for its input and output, or --window.")
        self.colors = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._unread = ""

    def __enter__(self) -> Terminal:
        self._input = _Input()
        sys.stdout.write(OPEN)
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):  # the terminal itself may be gone
            self._input.restore()
            sys.stdout.write(CLOSE)
            sys.stdout.flush()

    def draw(self, view: View) -> None:
        """Show a view, cut at the height of the screen."""
        text = "\n" + textwrap.indent(view.text(self.colors), "  ")
        lines = text.split("\n")[: shutil.get_terminal_size().lines]
        sys.stdout.write(HOME + f"{CLEAR_LINE}\r\n".join(lines) + CLEAR_LINE + CLEAR_BELOW)
        sys.stdout.flush()

    def key(self, timeout: float | None = None) -> str | None:
        """Wait for a `tile_envs.rendering.window.Key`; None if none comes in `timeout` seconds."""
        if not self._unread:
            arrived = self._input.read(timeout)
            if not arrived:
                return None if arrived is None else "closed"
            self._unread = arrived
        while UNFINISHED.fullmatch(self._unread):
            rest = self._input.read(0.05)  # if it is the escape key, nothing more arrives
            if not rest:
                break
            self._unread += rest
        key = KEY.match(self._unread)
        assert key
        self._unread = self._unread[key.end() :]
        return KEY_NAMES.get(key[0], key[0].lower())


if sys.platform == "win32":
    WINDOWS_ARROWS = {"H": "\x1b[A", "P": "\x1b[B", "M": "\x1b[C", "K": "\x1b[D"}

    class _Input:
        """Keys one by one, translated to what other systems send."""

        def __init__(self) -> None:
            os.system("")  # has the console obey escape sequences

        def read(self, timeout: float | None) -> str | None:
            deadline = None if timeout is None else time.monotonic() + timeout
            while not msvcrt.kbhit():
                if deadline is not None and time.monotonic() >= deadline:
                    return None
                time.sleep(0.01)
            character = msvcrt.getwch()
            if character in "\x00\xe0":
                return WINDOWS_ARROWS.get(msvcrt.getwch(), "\x00")
            return character

        def restore(self) -> None:
            pass

else:

    class _Input:
        """Keys as they come, without echo; Ctrl-C interrupts, the other signals are mere keys."""

        def __init__(self) -> None:
            self._settings = termios.tcgetattr(STDIN)
            tty.setcbreak(STDIN)
            settings = termios.tcgetattr(STDIN)
            disabled = bytes([os.fpathconf(STDIN, "PC_VDISABLE")])
            settings[6][termios.VSUSP] = settings[6][termios.VQUIT] = disabled
            termios.tcsetattr(STDIN, termios.TCSADRAIN, settings)

        def read(self, timeout: float | None) -> str | None:
            """Return what has been typed, "" at the end of input, None after the timeout."""
            while not select.select([STDIN], [], [], POLL if timeout is None else timeout)[0]:
                if timeout is not None:
                    return None
            try:
                return os.read(STDIN, 1024).decode(errors="replace")
            except OSError:  # the other end of the terminal has gone
                return ""

        def restore(self) -> None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(STDIN, termios.TCSADRAIN, self._settings)
