"""Libraries that are no dependencies of this package, but of its extras."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import libraries of an extra; a missing one is reported with the extra that brings it.

        with extra("sb3"):
            import stable_baselines3

    Args:
        name: The name of the extra.

    Raises:
        ModuleNotFoundError: If a library is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error.name} is not installed: pip install 'tile-envs[{name}]'", name=error.name
        ) from None
