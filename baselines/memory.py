"""Checks that something fits into memory, before it is made."""

from __future__ import annotations

from collections.abc import Callable

import psutil

from tile_envs.errors import UsageError


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
