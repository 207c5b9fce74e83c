"""Wrappers for single environments; `tile_envs.wrappers.vector` has the same for vector ones.

The order, from the environment outwards: `Log2Reward`, `ReplaceIllegal`, `PenalizeIllegal`,
`OneHotPlanes`, `FlatObservation`, `MaskInObservation`; leave out what you do not need.
"""

from tile_envs.wrappers.single import (
    FlatObservation,
    Log2Reward,
    MaskInObservation,
    OneHotPlanes,
    PenalizeIllegal,
    ReplaceIllegal,
)

__all__ = [
    "FlatObservation",
    "Log2Reward",
    "MaskInObservation",
    "OneHotPlanes",
    "PenalizeIllegal",
    "ReplaceIllegal",
]
