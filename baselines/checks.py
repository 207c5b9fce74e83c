"""Checks of settings: each raises one error that names the value and what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import psutil
import typeguard

from tile_envs.errors import UsageError


def check(name: str, value: object, usable: bool, expected: str) -> None:
    """Check a setting.

    Raises:
        ValueError: If it is not usable.
    """
    if not usable:
        raise UsageError(f"{name} must be {expected}, got {value!r}.")


def check_least(settings: object, least: int, *names: str) -> None:
    """Check that settings are not below a number; raises as `check` does."""
    for name in names:
        value = getattr(settings, name)
        check(name, value, value >= least, f"at least {least}")


def check_shares(settings: object, *names: str) -> None:
    """Check that settings are from 0 to 1; raises as `check` does."""
    for name in names:
        value = getattr(settings, name)
        check(name, value, 0 <= value <= 1, "from 0 to 1")


def check_positive(settings: object, *names: str) -> None:
    """Check that settings are above 0 and finite; raises as `check` does."""
    for name in names:
        value = getattr(settings, name)
        check(name, value, 0 < value < math.inf, "above 0 and finite")


def is_a(value: object, kind: Any) -> bool:
    """Tell whether a value, with all that it holds, is of a type such as `tuple[int, ...]`."""
    everything = typeguard.CollectionCheckStrategy.ALL_ITEMS
    try:
        typeguard.check_type(value, kind, collection_check_strategy=everything)
    except typeguard.TypeCheckError:
        return False
    return True


def type_name(kind: Any) -> str:
    """Return a type as people write it."""
    return kind.__name__ if type(kind) is type else str(kind).replace("typing.", "")


def check_batch(games: int, name: str, bytes_per_game: int) -> None:
    """Check that games that are played side by side, or listed, fit into memory.

    Args:
        games: Number of games.
        name: The setting that says so.
        bytes_per_game: What each takes.

    Raises:
        ValueError: If they do not fit.
    """
    check_memory(
        games * bytes_per_game,
        f"a batch of {games:,} games",
        lambda available: f"give {name} of at most {available // bytes_per_game:,}",
    )


def check_memory(needed: int, what: str, advice: Callable[[int], str]) -> None:
    """Check that something fits into memory before it is made.

    Args:
        needed: Bytes.
        what: What is made.
        advice: Returns what to do, given the number of free bytes.

    Raises:
        ValueError: If it does not fit.
    """
    available = psutil.virtual_memory().available
    if needed > available:
        raise UsageError(
            f"{what} takes {needed / 2**30:,.1f} GiB, "
            f"and {available / 2**30:,.1f} GiB are free: {advice(available)}."
        )
