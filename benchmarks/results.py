"""The rows of the tables: what names a row, and the files that hold them."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from baselines.evaluation.rows import read_rows, write_rows
from tile_envs.errors import UsageError

Row = dict[str, Any]
Key = tuple[str, ...]

FOLDER = Path(__file__).parent / "results"
VERSION = "version"

SEARCH = ("depth", "samples", "milliseconds", "downgrade")
_LEARNING = ("agent", "env", "label", "train_seed", "minutes", *SEARCH[:2])
_SPEED = ("measure", "package", "game", "kind", "num_envs")
KEYS: Mapping[str, tuple[str, ...]] = {
    "agents": ("env", "env_kwargs", "agent", "preset"),
    "crosstable": ("x", "o"),
    "seeds": ("label", "seed", "side"),
    "ntuple": _LEARNING,
    "deep": _LEARNING,
    "ideas": _LEARNING,
    "recipe": _LEARNING,
    "exact": ("env", "env_kwargs", "label", "seed"),
    "adversary": (*_LEARNING, "placer"),
    "search": (*_LEARNING, *SEARCH[2:]),
    "solved": ("game", "shape"),
    "kernels": ("measure", "package"),
    "bridge": _SPEED,
    "speed": _SPEED,
    "threads": (*_SPEED, "threads"),
    "plug": ("measure", "algorithm", "env", "games"),
}
"""By table, the columns that name a row."""


class Plan(NamedTuple):
    """Rows that can be made on this machine: the columns that name each, and what makes them."""

    names: list[Row]
    make: Callable[[], list[Row]]


def key_of(table: str, row: Mapping[str, Any]) -> Key:
    """Return what names a row, the same for a row of a file and one that has just been made."""
    return tuple(_text(row.get(column)) for column in KEYS[table])


def read(folder: Path, table: str) -> dict[Key, Row]:
    """Return the rows of a table by what names them, as text by column; none without a file.

    Raises:
        ValueError: If the file is damaged.
    """
    path = folder / f"{table}.csv"
    rows = read_rows(path) if path.exists() else []
    if missing := [column for column in KEYS[table] if rows and column not in rows[0]]:
        raise UsageError(f"{path} is damaged: it has no column {missing[0]!r}.")
    return {key_of(table, row): row for row in rows}


def add(folder: Path, table: str, rows: Iterable[Row]) -> None:
    """Write rows to a table's file, in place of those of the same names, sorted by name.

    A row with an `error` replaces no row without one.
    """
    table_rows = read(folder, table)
    for row in rows:
        key = key_of(table, row)
        if not (row.get("error") and key in table_rows and not table_rows[key].get("error")):
            table_rows[key] = row
    columns = dict.fromkeys(column for row in table_rows.values() for column in row)
    columns |= dict.fromkeys(KEYS[table])  # a column may be empty in the first rows
    ordered = [table_rows[key] for key in sorted(table_rows, key=lambda key: [*map(_order, key)])]
    rows = [{column: row.get(column) for column in columns} for row in ordered]
    write_rows(rows, folder / f"{table}.csv")


@cache
def machine() -> str:
    """Return what speeds depend on: the processor, Python and numpy."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return f"{processor}, Python {platform.python_version()}, numpy {version('numpy')}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    try:
        return f"{float(value):g}"
    except ValueError:
        return str(value)


def _order(text: str) -> tuple[int, float, str]:
    """Return what sorts numbers as numbers, before texts."""
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text
