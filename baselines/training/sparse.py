"""Large tables of which little has been used, without what is as it was made.

Tables are arrays `(n,)` of at least `LARGE` bytes.  Those of the same length are used alike, and so
they share a mask: a bit for each place at which one of them differs from its own last number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 20
MASK = "mask"


def pack(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays by name, of large tables only a part.

    Tables of length n become `mask/n`, a bit for each place, as `numpy.packbits` has them, and of
    each one `name/n`: its last number, then those at the places of the mask.
    """
    packed, used = dict(arrays), {}
    for name, table in arrays.items():
        if table.ndim == 1 and table.nbytes >= LARGE and table.itemsize in (1, 2, 4, 8):
            bits = table.view(f"u{table.itemsize}")  # tells 0.0 from -0.0
            differs = bits != bits[-1]
            if 2 * np.count_nonzero(differs) < len(table):
                used[name] = differs
    for length in {len(differs) for differs in used.values()}:
        alike = [name for name, differs in used.items() if len(differs) == length]
        mask = reduce(np.logical_or, (used[name] for name in alike))
        packed[f"{MASK}/{length}"] = np.packbits(mask)
        for name in alike:
            packed[f"{name}/{length}"] = np.append(packed.pop(name)[-1:], arrays[name][mask])
    return packed


def unpack(packed: Mapping[str, NDArray[Any]], max_bytes: int) -> dict[str, NDArray[Any]]:
    """Return what was packed, the tables of each length of at most `max_bytes` bytes.

    Raises:
        ArithmeticError, LookupError, TypeError or ValueError: If it was not packed like that.
    """
    arrays = dict(packed)
    for mask in [name for name in packed if name.startswith(f"{MASK}/")]:
        length, bits = int(mask.removeprefix(f"{MASK}/")), arrays.pop(mask)
        names = [name for name in arrays if name.endswith(f"/{length}")]
        if length * sum(arrays[name].itemsize for name in names) > max_bytes:
            raise ValueError(f"its tables of {length:,} numbers take more than {max_bytes:,} bytes")
        differs = np.unpackbits(bits, count=length).view(np.bool_)
        for name in names:
            kept = arrays.pop(name)
            if len(kept) != 1 + int(np.count_nonzero(differs)):
                raise ValueError(f"{name!r} does not belong to its mask")
            table = arrays[name.removesuffix(f"/{length}")] = np.full(length, kept[0])
            table[differs] = kept[1:]
    return arrays
