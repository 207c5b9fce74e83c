"""Arrays in `.npz` files, without pickle, large tables packed.

A file may come from anybody: the sizes of what is in it are read before anything is unpacked.

Of large tables, arrays `(n,)` of at least `LARGE` bytes, only the entries that differ from their
initial value are stored.  Those of the same length are used alike, and so they share a mask: a bit
for each place at which one of them differs from its own last number.  Those of one type also change
in similar ways, so that the bits in which they differ compress well.
"""

import io
import math
import os
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tile_envs.errors import UsageError
from tile_envs.files import replacing

Arrays = dict[str, NDArray[Any]]
Item = tuple[str, NDArray[Any]]
LARGE, BLOCK, MASK = 1 << 20, 1 << 16, "mask"
HEADER = 1 << 10  # bytes of an entry besides those of its array, at most
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def write_arrays(path: Path, arrays: Iterable[Item], compressed: bool = False) -> None:
    """Write arrays, each after its name, to a file, which is replaced when all is written."""
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with replacing(path) as beside, beside.open("wb") as file:
        # As np.savez, which can be told to leave pickle alone since numpy 2.2 only.
        with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
            for name, array in arrays:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    npy.write_array(entry, np.asanyarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def read_arrays(path: Path, max_bytes: int, only: Collection[str] | None = None) -> Arrays:
    """Return the arrays of a file, of at most `max_bytes` bytes, or those `only` of some names."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {e.filename.removesuffix(".npy"): e for e in archive.infolist()}
            if only is not None:
                wanted = {MASK, *only}
                entries = {n: e for n, e in entries.items() if n.partition("/")[0] in wanted}
            size = sum(entry.file_size for entry in entries.values()) - HEADER * len(entries)
            if size <= max_bytes:
                return _unpack({n: _read(archive, e) for n, e in entries.items()}, max_bytes)
    except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds on damaged files
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise UsageError(f"{path} is damaged: {reason}.") from error
    raise UsageError(f"{path} holds {size:,} bytes of arrays, not {max_bytes:,}: of another game?")


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(entry) as file:
        shape, _, dtype = HEADERS[npy.read_magic(file)](file)
        if file.tell() + math.prod(shape) * dtype.itemsize != entry.file_size:
            raise UsageError(f"{entry.filename} is not an array of the size it claims")
        file.seek(0)
        return np.asarray(npy.read_array(file))


def size_of(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return how many bytes arrays take."""
    return sum(array.nbytes for array in arrays.values())


def check_unpacked(path: Path, max_bytes: int) -> None:
    """Check the sizes of the entries of a zip file, and of the zip files in it."""
    archives = [zipfile.ZipFile(path)]
    for archive in archives:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > max_bytes:
            raise UsageError(f"{path} unpacks to {size:,} bytes, expected at most {max_bytes:,}.")
        if archive is archives[0]:
            files = (io.BytesIO(archive.read(entry)) for entry in archive.infolist())
            archives += [zipfile.ZipFile(file) for file in files if zipfile.is_zipfile(file)]


def pack(arrays: Mapping[str, NDArray[Any]]) -> Iterator[Item]:
    """Yield arrays, of large tables only a part, one by one: together they may fill the memory.

    Tables of length n become `mask/n/first`, a bit for each place, as `numpy.packbits` has them,
    and of each one `name/n`: its last number, then those at the places of the mask; the bits of
    these, if they are of the type of the first, as the exclusive or with its bits.
    """
    masks = defaultdict[int, Arrays](dict)
    for name, table in arrays.items():
        if table.ndim == 1 and table.nbytes >= LARGE and table.itemsize in (1, 2, 4, 8):
            bits = _bits(table)
            # Block by block: what is compared stays in the cache, and memory is read once.
            blocks = (bits[i : i + BLOCK] for i in range(0, len(bits), BLOCK))
            mask = np.concatenate([np.packbits(block != bits[-1]) for block in blocks])
            if 2 * np.bitwise_count(mask).sum() < len(table):
                masks[len(table)][name] = mask
                continue
        yield name, table
    for length, alike in masks.items():
        first = next(iter(alike))
        mask = np.bitwise_or.reduce([*alike.values()])
        yield f"{MASK}/{length}/{first}", mask
        # Places are twice as fast as a mask of them, where numbers lie apart.
        places = np.flatnonzero(np.unpackbits(mask).view(np.bool_))
        for name in alike:
            numbers = np.append(arrays[name][-1:], arrays[name][places])
            if name == first:
                base = numbers
            yield f"{name}/{length}", _combined(numbers, base)


def _unpack(packed: Arrays, max_bytes: int) -> Arrays:
    """Return what was packed, the tables of each length of at most `max_bytes` bytes."""
    for mask in [name for name in packed if name.startswith(f"{MASK}/")]:
        _, digits, first = mask.split("/", 2)
        length, bits = int(digits), packed.pop(mask)
        if f"{first}/{length}" not in packed:  # its tables were left out
            continue
        names = [name for name in packed if name.endswith(f"/{length}")]
        if length * sum(packed[name].itemsize for name in names) > max_bytes:
            raise UsageError(f"tables of {length:,} numbers take more than {max_bytes:,} bytes")
        differs = np.unpackbits(bits, count=length).view(np.bool_)
        base = packed[f"{first}/{length}"]
        for name in names:
            numbers = _combined(packed.pop(name), base)
            table = packed[name.removesuffix(f"/{length}")] = np.full(length, numbers[0])
            table[differs] = numbers[1:]
    return packed


def _combined(numbers: NDArray[Any], base: NDArray[Any]) -> NDArray[Any]:
    """Return numbers, if they are others of the type of `base`, as the exclusive or with it."""
    if numbers is base or numbers.dtype != base.dtype:
        return numbers
    return np.asarray((_bits(numbers) ^ _bits(base)).view(base.dtype))


def _bits(table: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as integers, which tell 0.0 from -0.0."""
    return table.view(f"u{table.itemsize}")
