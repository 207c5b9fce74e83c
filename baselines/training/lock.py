"""Locks: a folder, or a file, that one process at a time writes to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import SoftFileLock, Timeout

from tile_envs.errors import UsageError
from tile_envs.files import sweep

LOCK = "lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, which is made if it is missing, until the `with` block ends.

    A lock that a dead process has left is taken over.

    Raises:
        ValueError: If another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder / LOCK, str(folder)):
        sweep(folder)
        yield


@contextmanager
def held(path: Path, what: str) -> Iterator[None]:
    """Hold a lock until the `with` block ends.

    Args:
        path: The lock's file, which names the process.
        what: What is held, for the error.

    Raises:
        ValueError: If another process holds it.
    """
    lock = SoftFileLock(path, is_singleton=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if lock.pid:
            raise UsageError(
                f"{what} is in use by process {lock.pid}: wait for it, "
                f"or delete {path} if it is gone."
            ) from None
        raise UsageError(
            f"{what} is in use by another process: wait for it, or delete {path} if there is none."
        ) from None
    try:
        yield
    finally:
        lock.release()
