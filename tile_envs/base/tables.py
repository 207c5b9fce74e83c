"""Lookup tables that all environments of a process share, and nobody may change."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Holder = TypeVar("Holder")


def read_only(table: NDArray[Any]) -> NDArray[Any]:
    """Return a view of a whole table that cannot be written to."""
    view = table.view()
    view.flags.writeable = False
    return view


def shared(tables: Holder) -> Holder:
    """Make the arrays that an object holds `read_only`, and return it."""
    for name, table in vars(tables).items():
        if isinstance(table, np.ndarray):
            vars(tables)[name] = read_only(table)
    return tables


def for_loops(table: Any) -> Any:
    """Undo `read_only` for numba, which unboxes writeable arrays faster; other values stay."""
    owner = getattr(table, "base", None)
    if owner is None or table.flags.writeable or owner.nbytes != table.nbytes:  # a user's own
        return table
    return owner.view(table.dtype).reshape(table.shape)
