"""The rows of the tables: the files that hold them, what names a row, and where it was made."""

import json
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from baselines.evaluation.rows import read_rows, write_rows
from tile_envs.errors import UsageError

Row = dict[str, Any]
Name = tuple[str, ...]

FOLDER = Path(__file__).parent / "results"
KEY = "key"
SEED = 0
"""Seed of the games that are evaluated, and of agents that are not trained."""

SEARCH = ("depth", "samples", "milliseconds", "downgrade")
_LEARNING = ("agent", "env", "label", "train_seed", "minutes", *SEARCH, "placer")
_SPEED = ("measure", "package", "game", "kind", "num_envs")
NAMES: Mapping[str, tuple[str, ...]] = {
    "agents": ("env", "env_kwargs", "agent", "preset"),
    "crosstable": ("x", "o"),
    "seeds": ("label", "seed", "side"),
    "ntuple": _LEARNING,
    "reproduction": _LEARNING,
    "deep": _LEARNING,
    "ideas": _LEARNING,
    "recipe": _LEARNING,
    "exact": ("env", "env_kwargs", "label", "seed"),
    "adversary": _LEARNING,
    "search": _LEARNING,
    "solved": ("game", "shape"),
    "kernels": ("measure", "package"),
    "bridge": _SPEED,
    "speed": _SPEED,
    "threads": (*_SPEED, "threads"),
    "accelerator": ("device", "package", "game", "num_envs"),
    "plug": ("measure", "algorithm", "env", "games"),
}
"""By table, the columns that name a row."""


def is_made(rows: Iterable[Row], key: str) -> bool:
    """Tell whether a table has rows of a key, all of them without an error."""
    errors = [bool(row.get("error")) for row in rows if row.get(KEY) == key]
    return bool(errors) and not any(errors)


def name_of(table: str, row: Mapping[str, Any]) -> Name:
    """Return what names a row, the same for a row of a file and one that has just been made."""
    return tuple(_text(row.get(column)) for column in NAMES[table])


def read(folder: Path, table: str) -> dict[Name, Row]:
    """Return the rows of a table by what names them, as text by column; none without a file.

    Raises:
        ValueError: If the file is damaged.
    """
    path = folder / f"{table}.csv"
    rows = read_rows(path) if path.exists() else []
    if missing := [column for column in NAMES[table] if rows and column not in rows[0]]:
        raise UsageError(f"{path} is damaged: it has no column {missing[0]!r}.")
    return {name_of(table, row): row for row in rows}


def add(folder: Path, table: str, rows: Iterable[Row]) -> None:
    """Write rows to a table's file, in place of those of the same names, sorted by name.

    A row with an `error` replaces no row without one, and is replaced by all of the same key.
    """
    rows = list(rows)
    keys = {row.get(KEY) for row in rows}
    there = read(folder, table).items()
    table_rows = {n: row for n, row in there if not (row.get("error") and row.get(KEY) in keys)}
    for row in rows:
        name = name_of(table, row)
        if not (row.get("error") and name in table_rows and not table_rows[name].get("error")):
            table_rows[name] = row
    columns = dict.fromkeys(column for row in table_rows.values() for column in row)
    columns |= dict.fromkeys(NAMES[table])  # a column may be empty in the first rows
    ordered = [
        table_rows[name] for name in sorted(table_rows, key=lambda name: [*map(_order, name)])
    ]
    rows = [{column: row.get(column) for column in columns} for row in ordered]
    write_rows(rows, folder / f"{table}.csv")


@cache
def processor() -> str:
    """Return the model of the processor, with its numbers where the name has none."""
    name, numbers = platform.processor() or platform.machine(), ""
    with suppress(OSError):
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
        cpu = dict(re.findall(r"^(.+?)\s*: (.*)$", first, re.MULTILINE))
        name = cpu.get("model name", name)
        known = [f"{n} {cpu[n]}" for n in ("cpu family", "model", "stepping") if n in cpu]
        numbers = f" ({', '.join(known)})" * bool(known)
    return name if re.search(r"\d", name) else name + numbers


@cache
def machine() -> str:
    """Return what speeds depend on: the processor, Python and numpy."""
    return f"{processor()}, Python {platform.python_version()}, numpy {version('numpy')}"


@cache
def commit() -> str:
    """Return the commit of the code, with "+" if some of it is not committed; "" if unknown."""

    def git(*words: str) -> str:
        return subprocess.check_output(
            ["git", *words], cwd=FOLDER, text=True, stderr=subprocess.DEVNULL
        ).strip()

    try:
        changed = git("status", "--porcelain", "--", ":/*.py", ":/*.yml")
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return ""


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
