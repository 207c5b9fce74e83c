"""Mistakes of the user: one class of exception, which command lines answer with one line."""

from __future__ import annotations

from gymnasium.error import Error

MISTAKE = 2
"""The exit status of a command that a user's mistake has ended."""


class UsageError(ValueError):
    """A value, a file or a request that cannot be used; its message says what to do instead."""


def is_mistake(error: BaseException) -> bool:
    """Whether an error is the user's to mend: one line on a command line, without a traceback.

    These are mistakes, files that are missing or cannot be read or written, too little memory, and
    Gymnasium's own errors, such as those of unknown ids and missing libraries.
    """
    return isinstance(error, UsageError | OSError | MemoryError | Error)


def message_of(error: BaseException) -> str:
    """Return the line that a command answers a mistake with."""
    reason = "not enough memory: " if isinstance(error, MemoryError) else ""
    return f"error: {reason}{' '.join(str(error).split())}"
