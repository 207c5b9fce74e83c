"""Modules that a person names, with games or agents of their own: imported on request only.

Files never make a module be imported: they may only say which ones they need.
"""

from __future__ import annotations

import importlib

from tile_envs.errors import UsageError

NAMED: list[str] = []
"""The modules that have been named in this process."""


def import_named(module: str) -> None:
    """Import a module that a person has typed.

    Raises:
        ValueError: If there is no such module.
    """
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # it is there, and imports another one that is not
        raise UsageError(f"the module {module} is not found: {error}.") from None
    if module not in NAMED:
        NAMED.append(module)
