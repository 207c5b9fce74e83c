"""The committed rows: their files, what names each row, and the record of what made it."""

import ast
import hashlib
import io
import json
import platform
import re
import subprocess
import tokenize
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

from baselines.evaluation.rows import read_rows, write_rows
from baselines.training.config import key_of
from baselines.training.run_folder import installed
from tile_envs.errors import UsageError

Row = dict[str, Any]
Name = tuple[str, ...]

FOLDER = Path(__file__).parent / "results"
SEED = 0  # of the games that are evaluated, and of agents that are not trained
SEARCH = ("depth", "samples", "milliseconds", "downgrade")
_PLAYED = ("agent", "env", "env_kwargs", "label", "train_seed", "minutes", *SEARCH, "placer")
_EXACT = ("env", "env_kwargs", "label", "seed", "side")
_SPEED = ("measure", "package", "game", "kind", "num_envs", "threads")
NAMES: Mapping[str, tuple[str, ...]] = {
    "agents": _PLAYED,
    "crosstable": ("x", "o"),
    "seeds": _EXACT,
    "ntuple": _PLAYED,
    "reproduction": _PLAYED,
    "search": _PLAYED,
    "deep": _PLAYED,
    "recipe": ("label", "train_seed", "depth"),
    "exact": _EXACT,
    "optimum": _PLAYED,
    "adversary": _PLAYED,
    "solved": ("game", "shape"),
    "kernels": ("measure", "package"),
    "bridge": _SPEED,
    "speed": _SPEED,
    "threads": _SPEED,
    "accelerator": ("device", "package", "game", "num_envs"),
    "plug": ("library", "algorithm", "env"),
}
"""By table, the columns that name a row."""
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def name_of(table: str, row: Mapping[str, Any]) -> Name:
    """Return what names a row, the same for a row of a file and one that has just been made."""
    return tuple(_text(row.get(column)) for column in NAMES[table])


def read(folder: Path, table: str) -> dict[Name, Row]:
    """Return the rows of a table by what names them, as text by column; none without a file."""
    path, rows = folder / f"{table}.csv", {}
    for row in read_rows(path) if path.exists() else ():
        wanted = (*NAMES[table], "record", "key")
        if missing := [column for column in wanted if column not in row]:
            raise UsageError(f"{path} is damaged: it has no column {missing[0]!r}.")
        name = name_of(table, row)
        about = f"{path}: {', '.join(filter(None, name))}"
        again = "restore the row from git, or delete it, and `run` makes it again."
        try:
            record = json.loads(row["record"])
        except ValueError:
            raise UsageError(f"{about} has no record of what made it: {again}") from None
        if row["key"] != key_of(record):
            raise UsageError(f"{about} has the key {row['key']!r}, not that of its record: {again}")
        rows[name] = row
    return rows


def add(folder: Path, table: str, rows: Iterable[Row]) -> None:
    """Write rows to a table's file, in place of those of the same names, sorted by name.

    A row with an `error` replaces no row without one, and is replaced by all of the same key.
    """
    rows = list(rows)
    keys = {row["key"] for row in rows}
    there = read(folder, table).items()
    known = {n: row for n, row in there if not (row.get("error") and row["key"] in keys)}
    for row in rows:
        name = name_of(table, row)
        if not (row.get("error") and name in known and not known[name].get("error")):
            known[name] = row
    ordered = [known[name] for name in sorted(known, key=lambda name: [*map(_order, name)])]
    columns = dict.fromkeys([*NAMES[table], *(column for row in ordered for column in row)])
    write_rows([{n: row.get(n) for n in columns} for row in ordered], folder / f"{table}.csv")


def made_now(record: Row, seconds: float) -> Row:
    """Return the columns that say what made a row, when and where."""
    software = {"Python": platform.python_version()} | installed()
    return {
        "record": json.dumps(record, sort_keys=True),
        "key": key_of(record),
        "stamp": "made",  # or, of rows from before there were stamps, "recorded"
        "commit": commit(),
        "date": datetime.now(timezone.utc).isoformat(timespec="minutes"),
        "processor": processor(),
        "software": ", ".join(map(" ".join, software.items())),
        "seconds": round(seconds, 1),
    }


def digest_of(*modules: str) -> str:
    """Return a digest of the code of modules and packages, without comments and docstrings."""
    digest = hashlib.sha256()
    for module in modules:
        path = FOLDER.parents[1] / module.replace(".", "/")
        for file in sorted(path.rglob("*.py")) or [path.with_suffix(".py")]:
            digest.update(_code(file.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


@cache
def _code(source: str) -> str:
    """Return the tokens of a program that decide what it does."""
    texts = {
        (node.value.lineno, node.value.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    left_out = (tokenize.COMMENT, tokenize.NL)
    marks = {tokenize.INDENT: "{", tokenize.DEDENT: "}"}
    words = [
        marks.get(token.type, token.string)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in left_out and token.start not in texts
    ]
    return re.sub(r"\s+", "", "".join(words))


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
def commit() -> str:
    """Return the commit of the code, with "+" if some of it is not committed; "" if unknown."""

    def git(*words: str) -> str:
        how: Any = {"cwd": FOLDER, "text": True, "stderr": subprocess.DEVNULL}
        return str(subprocess.check_output(["git", *words], **how)).strip()

    try:
        changed = git("status", "--porcelain", "--", ":/*.py", ":/*.yml")
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return ""


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    text = "" if value is None else str(value)
    return f"{float(text):.15g}" if NUMBER.fullmatch(text) else text


def _order(text: str) -> tuple[int, float, str]:
    """Return what sorts numbers as numbers, before texts."""
    return (0, float(text), "") if NUMBER.fullmatch(text) else (1, 0.0, text)
