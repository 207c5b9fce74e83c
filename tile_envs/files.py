"""Whole files only: a new file is written in a folder beside the old one, and then replaces it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

PART = ".part"
"""The suffix of a folder in which a file is written; only a killed process leaves one behind."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what is written there, if anything, then replaces the file.

    If the writing fails, the file stays as it was, and nothing is left beside it.
    """
    made = TemporaryDirectory(PART, f"{path.name}.", path.parent, ignore_cleanup_errors=True)
    with naming(path), made as folder:
        beside = Path(folder, path.name)
        yield beside
        if beside.exists():
            beside.replace(path)


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
