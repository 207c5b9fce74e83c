"""Sets of up to nine actions or cells, as bits `1 << member`, and their members by lookup."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.random_stream import Words, choose
from tile_envs.base.tables import read_only

MOST = 9
_SETS = np.arange(1 << MOST)
_MEMBERS = (_SETS[:, None] >> np.arange(MOST) & 1).astype(np.int8)
SIZE = read_only(_MEMBERS.sum(axis=1, dtype=np.uint64))
"""`(512,) uint64`: how many members a set has."""
KTH = read_only(np.argsort(-_MEMBERS, axis=1, kind="stable").reshape(-1))
"""`(512 * 9,) int64`, by `set * 9 + k`: the k-th member of a set, 0 if it is empty."""
_ROW = np.array(MOST)  # 0-d: see `random_stream`


@cache
def masks(n: int) -> NDArray[np.int8]:
    """Return the sets of n members as masks, `(2**n, n)`."""
    return read_only(np.ascontiguousarray(_MEMBERS[: 1 << n, :n]))


def pick(sets: NDArray[np.int64], words: Words) -> NDArray[np.int64]:
    """Return a member of each set `(n,)`, by a random word for each; 0 if the set is empty."""
    k: Any = choose(words, SIZE.take(sets)).view(np.int64)
    k += sets * _ROW
    return np.asarray(KTH.take(k))
