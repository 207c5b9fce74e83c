"""The terminal as a screen: single keys, colored tiles, and everything put back on leaving."""

import contextlib
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable

from tile_envs.errors import UsageError
from tile_envs.rendering.canvas import Drawing
from tile_envs.rendering.window import Key

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
    **{"\r": "enter", "\n": "enter", " ": "space"},
    **{"\x03": "closed", "\x04": "closed"},  # Ctrl-C, where it is not a signal, and Ctrl-D
}
KEY = re.compile(r"\x1b+(?:\[\[.|\[[0-?]*[ -/]*[@-~]|O.|[^\x1b[O])?|.", re.DOTALL)
"""What one key sends; of the many that begin with an escape, only the arrows have a name."""
UNFINISHED = re.compile(r"\x1b+(?:\[\[?|\[[0-?]+[ -/]*|O)?")
POLL = 0.5
"""Seconds between checks while waiting: a signal that comes just before it does not end it."""


class Terminal:
    """The terminal as a screen, in a `with` statement; without colors where NO_COLOR is set."""

    def __init__(self) -> None:
        if not (os.isatty(STDIN) and os.isatty(STDOUT)):
            raise UsageError("this needs a terminal for its input and output, or --window.")
        self.colors = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._unread: str | None = ""

    def __enter__(self) -> "Terminal":
        self._restore = _take_keys()
        sys.stdout.write(OPEN)
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):  # the terminal itself may be gone
            self._restore()
            sys.stdout.write(CLOSE)
            sys.stdout.flush()

    def draw(self, drawing: Drawing) -> None:
        """Show a drawing, cut at the height of the screen."""
        text = "\n" + textwrap.indent(drawing.text(self.colors), "  ")
        lines = text.split("\n")[: shutil.get_terminal_size().lines]
        sys.stdout.write(HOME + f"{CLEAR_LINE}\r\n".join(lines) + CLEAR_LINE + CLEAR_BELOW)
        sys.stdout.flush()

    def key(self, timeout: float | None = None) -> Key | None:
        """Wait for a key; None if none comes in `timeout` seconds."""
        self._unread = self._unread or _read(timeout)
        if not self._unread:
            return None if self._unread is None else "closed"
        while UNFINISHED.fullmatch(self._unread):
            rest = _read(0.05)  # if it is the escape key, nothing more arrives
            if not rest:
                break
            self._unread += rest
        key = KEY.match(self._unread)
        assert key
        self._unread = self._unread[key.end() :]
        return KEY_NAMES.get(key[0], key[0].lower())


if sys.platform == "win32":
    WINDOWS_ARROWS = {"H": "\x1b[A", "P": "\x1b[B", "M": "\x1b[C", "K": "\x1b[D"}

    def _take_keys() -> Callable[[], object]:
        os.system("")  # has the console obey escape sequences
        return lambda: None

    def _read(timeout: float | None) -> str | None:
        """Return a key, translated to what other systems send, or None after the timeout."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not msvcrt.kbhit():
            if deadline is not None and time.monotonic() >= deadline:
                return None
            time.sleep(0.01)
        character = msvcrt.getwch()
        return WINDOWS_ARROWS.get(msvcrt.getwch(), "\0") if character in "\0\xe0" else character

else:

    def _take_keys() -> Callable[[], object]:
        """Take keys as they come, without echo; Ctrl-C interrupts, other signals are mere keys."""
        before = termios.tcgetattr(STDIN)
        tty.setcbreak(STDIN)
        settings = termios.tcgetattr(STDIN)
        disabled = bytes([os.fpathconf(STDIN, "PC_VDISABLE")])
        settings[6][termios.VSUSP] = settings[6][termios.VQUIT] = disabled
        termios.tcsetattr(STDIN, termios.TCSADRAIN, settings)

        def restore() -> None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(STDIN, termios.TCSADRAIN, before)

        return restore

    def _read(timeout: float | None) -> str | None:
        """Return what has been typed, "" at the end of input, None after the timeout."""
        while not select.select([STDIN], [], [], POLL if timeout is None else timeout)[0]:
            if timeout is not None:
                return None
        try:
            return os.read(STDIN, 1024).decode(errors="replace")
        except OSError:  # the other end of the terminal has gone
            return ""
