"""Mistakes of the user, missing libraries, and how command lines answer both: with one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gymnasium.error import DependencyNotInstalled, Error

from tile_envs.words import printable

CLONE = Path(__file__).parents[1] / "pyproject.toml"  # where wheels have none
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
        what = f"-e '.[{name}]'" if CLONE.exists() else f"'tile-envs[{name}]'"
        message = f"{error.name} is not installed: pip install {what}"
        raise ExtraNotInstalled(message, name=error.name, path=error.path) from error
