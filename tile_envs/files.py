"""Whole files only: a new file is written beside the old one, and then replaces it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PART = ".part"
"""The suffix of a file that is being written; only a killed process leaves one behind."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what is written there, if anything, then replaces the file.

    If the writing fails, the file stays as it was, and nothing is left beside it.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}{PART}")  # two processes do not collide
    try:
        with naming(path):
            yield beside
            if beside.exists():
                beside.replace(path)
    except BaseException:
        with suppress(OSError):  # which would hide what failed
            _remove(beside)
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name a file in errors of a `with` block that name none, as when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_file(path: Path, content: bytes) -> None:
    """Write a file by `replacing` it."""
    with replacing(path) as beside, beside.open("wb") as file:
        file.write(content)


def sweep(folder: Path) -> None:
    """Remove what killed processes have left in a folder that no other process writes to."""
    for left in folder.glob(f"*{PART}"):
        _remove(left)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def check_writable(folder: Path) -> None:
    """Raise an `OSError` if no file can be written to a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"nothing can be written to {folder} ({error.strerror}): give another folder."
        ) from None
