"""Packs large tables: only the entries that differ from their initial value are stored.

Tables are arrays `(n,)` of at least `LARGE` bytes.  Those of the same length are used alike, and so
they share a mask: a bit for each place at which one of them differs from its own last number.
Those of one type also change in similar ways, so that the bits in which they differ compress well.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 20
MASK = "mask"
BLOCK = 1 << 16


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
