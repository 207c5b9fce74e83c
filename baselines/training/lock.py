"""Locks: a run folder is locked while a process trains in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import SoftFileLock, Timeout

from tile_envs.errors import UsageError
from tile_envs.files import sweep

LOCK = "lock"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a folder, which is made if it is missing, until the `with` block ends.

    A lock that a dead process has left is taken over.

    Raises:
        ValueError: If another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with lock(folder / LOCK, str(folder)):
        sweep(folder)
        yield


@contextmanager
def lock(path: Path, what: str) -> Iterator[None]:
    """Hold a lock until the `with` block ends.

    Args:
        path: The lock's file, which names the process.
        what: What it locks, for the error.

    Raises:
        ValueError: If another process holds it.
    """
    holder = SoftFileLock(path, is_singleton=False)
    try:
        holder.acquire(blocking=False)
    except Timeout as error:
        process = f"process {holder.pid}" if holder.pid else "another process"
        raise UsageError(
            f"{what} is in use by {process}: wait for it, or delete {path} if it is gone."
        ) from error
    try:
        yield
    finally:
        holder.release()
