"""Arrays in `.npz` files, without pickle.

A file may come from anybody: the sizes in its headers are read before anything is unpacked.
"""

import io
import math
import os
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tile_envs.errors import UsageError
from tile_envs.files import replacing

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], compressed: bool = False) -> None:
    """Write arrays by name to a file, which is replaced when all is written.

    Compressing them quickly takes a second for 50 MB.

    Raises:
        OSError: If the file cannot be written; the one before is still there then.
        ValueError: If an array holds objects.
    """
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with replacing(path) as beside, beside.open("wb") as file:
        # As np.savez, which can be told to leave pickle alone since numpy 2.2 only.
        with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    npy.write_array(entry, np.asanyarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def read_arrays(
    path: Path, max_bytes: int, only: Collection[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, of at most `max_bytes` bytes.

    If `only` is given, arrays whose name, up to a slash, is not among these are left out.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is damaged, no file of arrays, or holds more than `max_bytes` bytes.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [entry.filename.removesuffix(".npy") for entry in archive.infolist()]
            names = [n for n in names if only is None or n.partition("/")[0] in only]
            size = sum(_size(archive, archive.getinfo(f"{name}.npy")) for name in names)
            if size <= max_bytes:
                with np.load(path, allow_pickle=False) as arrays:
                    return {name: arrays[name] for name in names}
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds on damaged files
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise UsageError(f"{path} is damaged, or no file of arrays: {reason}.") from error
    raise UsageError(
        f"{path} holds {size:,} bytes of arrays, expected at most {max_bytes:,}: "
        "is it one of another game?"
    )


def size_of(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return how many bytes arrays take."""
    return sum(array.nbytes for array in arrays.values())


def _size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    with archive.open(entry) as member:
        shape, _, dtype = HEADERS[npy.read_magic(member)](member)
        size = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or member.tell() + size != entry.file_size:
            raise UsageError(f"{entry.filename} is not an array of the size it claims")
        return size


def check_unpacked(path: Path, max_bytes: int) -> None:
    """Check the sizes of the entries of a zip file, and of the zip files in it."""
    files: list[Any] = [path]
    for file in files:
        with zipfile.ZipFile(file) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > max_bytes:
                raise UsageError(
                    f"{path} would take {size:,} bytes, expected at most {max_bytes:,}."
                )
            if file == path:
                inner = (io.BytesIO(archive.read(entry)) for entry in archive.infolist())
                files += [entry for entry in inner if zipfile.is_zipfile(entry)]
