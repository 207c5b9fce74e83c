"""Mistakes of the user, missing libraries, and how command lines answer both: with one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from gymnasium.error import DependencyNotInstalled, Error

from tile_envs.words import printable

MISTAKE = 2  # the exit status of a command that a user's mistake has ended


class UsageError(ValueError):
    """A value, a file or a request that cannot be used; its message says what to do instead."""


class ExtraNotInstalled(DependencyNotInstalled, ModuleNotFoundError):
    """A library that an extra of the package installs is missing or unusable."""


def is_mistake(error: BaseException) -> bool:
    """Whether an error is the user's to mend: one line on a command line, without a traceback."""
    return isinstance(error, UsageError | OSError | MemoryError | Error)  # `Error` is Gymnasium's


def message_of(error: BaseException) -> str:
    """Return the line that a command answers a mistake with."""
    reason = "not enough memory: " if isinstance(error, MemoryError) else ""
    return str(printable(f"error: {reason}{' '.join(str(error).split())}"))


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import libraries of an extra, as `pyproject.toml` names it, in a `with` statement."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed: in a clone, pip install -e '.[{name}]'"
        raise ExtraNotInstalled(message, name=error.name, path=error.path) from error
