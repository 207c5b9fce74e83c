"""Arrays in `.npz` files, without pickle.

A file may come from anybody: what its headers say of sizes is read before anything is unpacked.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tile_envs.errors import UsageError
from tile_envs.files import replacing

Arrays = dict[str, NDArray[Any]]

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], compressed: bool = False) -> None:
    """Write arrays to a file, which is replaced when all is written.

    Args:
        path: The file.
        arrays: The arrays by name.
        compressed: Whether to compress them, which takes many times as long.

    Raises:
        OSError: If the file cannot be written; the one before is still there then.
        ValueError: If an array holds objects.
    """
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with replacing(path) as beside, beside.open("wb") as file:
        # As np.savez, which can be told to leave pickle alone since numpy 2.2 only.
        with zipfile.ZipFile(file, "w", method) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    npy.write_array(entry, np.asanyarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def read_arrays(path: Path, most: int) -> Arrays:
    """Return the arrays of a file.

    Args:
        path: The file.
        most: The bytes that they may take.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is damaged, no file of arrays, or holds more than `most` bytes.
    """
    try:
        with path.open("rb") as file:
            size = _size(file)
            if size <= most:
                file.seek(0)
                with np.load(file, allow_pickle=False) as arrays:
                    return dict(arrays)
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds on damaged files
        raise UsageError(f"{path} is damaged, or no file of arrays: {_line(error)}.") from None
    raise UsageError(
        f"{path} holds {size:,} bytes of arrays, expected at most {most:,}: "
        "is it one of another game?"
    )


def check_unpacked(path: Path, most: int) -> None:
    """Check the sizes of the entries of a zip file, and of the zip files in it.

    Args:
        path: The file.
        most: The bytes that they may take.

    Raises:
        ValueError: If they take more.
        OSError: If the file cannot be read.
        zipfile.BadZipFile: If it is no zip file.
    """
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        if size <= most:
            inner = [io.BytesIO(archive.read(entry)) for entry in archive.infolist()]
            models = (zipfile.ZipFile(file) for file in inner if zipfile.is_zipfile(file))
            size = max((sum(e.file_size for e in model.infolist()) for model in models), default=0)
    if size > most:
        raise UsageError(f"{path} would take {size:,} bytes, expected at most {most:,}.")


def _size(file: IO[bytes]) -> int:
    """Return how many bytes the arrays of a file take.

    Raises:
        ValueError: If a header is not that of an array of the size of its entry.
    """
    size = 0
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as member:
                shape, _, dtype = HEADERS[npy.read_magic(member)](member)
                needed = math.prod(shape) * dtype.itemsize
                if dtype.hasobject or member.tell() + needed != entry.file_size:
                    raise UsageError(f"{entry.filename} is not an array of the size it claims")
            size += needed
    return size


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
