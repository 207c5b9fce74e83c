"""The libraries of the package's extras: imports of them that say what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gymnasium.error import DependencyNotInstalled


class ExtraNotInstalled(DependencyNotInstalled, ModuleNotFoundError):
    """A library that an extra of the package installs is missing."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import libraries of an extra in the body of a `with` statement.

    >>> with extra("render"):
    ...     import no_such_library
    Traceback (most recent call last):
    tile_envs.extras.ExtraNotInstalled: no_such_library is not installed: pip install \
'tile-envs[render]'

    Args:
        name: The extra, a key of `optional-dependencies` in `pyproject.toml`.

    Raises:
        ExtraNotInstalled: If a module is missing; it is a `ModuleNotFoundError`, too.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed: pip install 'tile-envs[{name}]'"
        raise ExtraNotInstalled(message, name=error.name, path=error.path) from error
