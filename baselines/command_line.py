"""How command lines answer: signals end them, and a user's mistake is one line.

It imports next to nothing, so that a command answers from its first moments on.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

BROKEN_PIPE = 13
"""The number of SIGPIPE, which Windows lacks."""
MISTAKE = 2
"""The exit status of a command that a user's mistake has ended."""


class Interrupted(KeyboardInterrupt):
    """A signal has ended a command; a run that it ended can be resumed.

    Args:
        number: The number of the signal.
        message: The message for the user.

    Attributes:
        status: The exit status, as a shell gives it to a program that a signal has ended.
    """

    def __init__(self, number: int, message: str = "") -> None:
        super().__init__(message)
        self.number = number
        self.status = 128 + number


@contextmanager
def answering(advice: str = "") -> Iterator[None]:
    """Turn signals and mistakes into a line on standard error and an exit status.

    These are 130 after Ctrl-C, 143 after SIGTERM, and 2 after a mistake.  An error in a module that
    the user has named keeps its traceback.

    Args:
        advice: What the user can do after a signal; what the command says of it, if not given.
    """
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # of `| head`: there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + BROKEN_PIPE)
    except KeyboardInterrupt as interrupt:
        known = "" if advice else str(interrupt)
        print(known or f"stopped{advice}.", file=sys.stderr)
        sys.exit(getattr(interrupt, "status", 128 + signal.SIGINT))
    except Exception as error:
        if not _is_mistake(error) or _is_in_code_of_the_user(error):
            raise
        reason = "not enough memory: " if isinstance(error, MemoryError) else ""
        print(f"error: {reason}{' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(MISTAKE)
    finally:  # processes that are forked later would inherit it
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _is_mistake(error: Exception) -> bool:
    from gymnasium.error import Error  # late: it takes a third of a second

    kinds = ValueError, TypeError, RuntimeError, OSError, OverflowError, MemoryError, Error
    return isinstance(error, kinds)


def _is_in_code_of_the_user(error: Exception) -> bool:
    """Tell whether an error came from a module that the user named: it needs its traceback."""
    import traceback

    from tile_envs.modules import NAMED

    files = {getattr(sys.modules.get(module), "__file__", None) for module in NAMED}
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename in files for frame in frames)


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)
