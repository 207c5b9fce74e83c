"""Files that are always whole: they are written beside the present one, which they then replace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".part"
"""The suffix of a file that is being written; only a process that is killed leaves one behind."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to; what is written there, if anything, then replaces the file.

    If the writing fails, the file stays as it was, and nothing is left beside it.

    Raises:
        OSError: If the file cannot be replaced.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}{PART}")  # two processes do not collide
    try:
        yield beside
        if beside.exists():
            beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_file(path: Path, content: bytes) -> None:
    """Write a file by `replacing` it."""
    with replacing(path) as beside, beside.open("wb") as file:
        file.write(content)


def sweep(folder: Path) -> None:
    """Remove what processes that were killed have left in a folder that nobody else writes to."""
    for left in folder.glob(f"*{PART}"):
        left.unlink(missing_ok=True)
