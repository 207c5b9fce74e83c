"""Arrays in `.npz` files, without pickle, large tables packed.

A file may come from anybody: the sizes in its headers are read before anything is unpacked.

Of large tables, arrays `(n,)` of at least `LARGE` bytes, only the entries that differ from their
initial value are stored.  Those of the same length are used alike, and so they share a mask: a bit
for each place at which one of them differs from its own last number.  Those of one type also change
in similar ways, so that the bits in which they differ compress well.
"""

import io
import math
import os
import zipfile
from collections.abc import Collection, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tile_envs.errors import UsageError
from tile_envs.files import replacing

LARGE = 1 << 20
MASK = "mask"
BLOCK = 1 << 16

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


def pack(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays by name, of large tables only a part.

    Tables of length n become `mask/n/first`, a bit for each place, as `numpy.packbits` has them,
    and of each one `name/n`: its last number, then those at the places of the mask; the bits of
    these, if they are of the type of the first, as the exclusive or with its bits.
    """
    packed, used = dict(arrays), {}
    for name, table in arrays.items():
        if table.ndim == 1 and table.nbytes >= LARGE and table.itemsize in (1, 2, 4, 8):
            mask = _mask_of(table)
            if 2 * np.bitwise_count(mask).sum() < len(table):
                used[name] = mask
    for length in {len(arrays[name]) for name in used}:
        alike = [name for name in used if len(arrays[name]) == length]
        mask = packed[f"{MASK}/{length}/{alike[0]}"] = reduce(
            np.bitwise_or, (used[name] for name in alike)
        )
        # Places are twice as fast as a mask of them, where numbers lie apart.
        places = np.flatnonzero(np.unpackbits(mask).view(np.bool_))
        for name in alike:
            table = packed.pop(name)
            packed[f"{name}/{length}"] = np.append(table[-1:], table[places])
        _combine(packed, alike[0], length)
    return packed


def unpack(packed: Mapping[str, NDArray[Any]], max_bytes: int) -> dict[str, NDArray[Any]]:
    """Return what was packed, the tables of each length of at most `max_bytes` bytes.

    Raises:
        ArithmeticError, LookupError, TypeError or ValueError: If it was not packed like that.
    """
    arrays = dict(packed)
    for mask in [name for name in packed if name.startswith(f"{MASK}/")]:
        _, digits, first = mask.split("/", 2)
        length, bits = int(digits), arrays.pop(mask)
        if f"{first}/{length}" not in arrays:  # its tables were left out
            continue
        names = [name for name in arrays if name.endswith(f"/{length}")]
        if length * sum(arrays[name].itemsize for name in names) > max_bytes:
            raise ValueError(f"its tables of {length:,} numbers take more than {max_bytes:,} bytes")
        _combine(arrays, first, length)
        differs = np.unpackbits(bits, count=length).view(np.bool_)
        for name in names:
            kept = arrays.pop(name)
            if len(kept) != 1 + int(np.count_nonzero(differs)):
                raise ValueError(f"{name!r} does not belong to its mask")
            table = arrays[name.removesuffix(f"/{length}")] = np.full(length, kept[0])
            table[differs] = kept[1:]
    return arrays


def _mask_of(table: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a bit for each number, whether it differs from the last, as `numpy.packbits` does."""
    bits = _bits(table)
    # Block by block: what is compared stays in the cache, and memory is read once.
    blocks = range(0, len(bits), BLOCK)
    return np.concatenate([np.packbits(bits[i : i + BLOCK] != bits[-1]) for i in blocks])


def _combine(packed: dict[str, NDArray[Any]], first: str, length: int) -> None:
    """Replace tables of the first one's type by their exclusive or with it, or back."""
    base = packed[f"{first}/{length}"]
    for name in packed.keys() - {f"{first}/{length}"}:
        if name.endswith(f"/{length}") and packed[name].dtype == base.dtype:
            packed[name] = (_bits(packed[name]) ^ _bits(base)).view(base.dtype)


def _bits(table: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as integers, which tell 0.0 from -0.0."""
    return table.view(f"u{table.itemsize}")
