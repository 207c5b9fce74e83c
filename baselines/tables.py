"""Rows of results, for people and for files."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = dict[str, Any]

SUFFIXES = (".csv", ".json")


def block(row: Row) -> str:
    """Write a row for people: the block of figures that the field compares."""
    options = [f"{key}={value}" for key, value in row["env_kwargs"].items()]
    head = [f"{row['agent']} on {row['env']}", *options]
    if "worst" in row:
        worst = {1: "wins", 0: "never loses", -1: "can lose"}[row["worst"]]
        return f"{', '.join(head)}, exactly\n{_shares(row)}\n  against every opponent: {worst}"
    head += [f"{row['episodes']:,} games", f"seed {row['seed']}"]
    unsure = ""
    if row["low"] is not None:
        unsure = f"   95 % interval {_figure(row['low'])} to {_figure(row['high'])}"
    lines = [
        ", ".join(head),
        f"  mean    {_figure(row['mean'])}{unsure}",
        f"  median  {_figure(row['median'])}   "
        f"min {_figure(row['min'])}   max {_figure(row['max'])}",
        f"  moves   {row['moves_per_second']:,} a second",
    ]
    if "win" in row:
        lines.append(_shares(row))
    if row["reach"]:
        lines += _reach_lines(row["reach"])
    return "\n".join(lines)


def _shares(row: Row) -> str:
    return "   ".join(f"  {key} {row[key]:.3%}" for key in ("win", "draw", "loss"))


def _reach_lines(reach: Mapping[int, float]) -> list[str]:
    """Write how many games reached each tile, and how many ended with it as their largest."""
    lines = [f"  {'tile':>7}  {'reached':>9}  {'ended':>9}"]
    beyond = [*list(reach.values())[1:], 0.0]
    for (face, share), more in zip(reach.items(), beyond, strict=True):
        if share > more:  # tiles that every game passed say nothing
            lines.append(f"  {face:>7}  {share:>9.2%}  {share - more:>9.2%}")
    return lines


def _figure(value: float) -> str:
    """Write a score with a digit after the point where it matters."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.3g}"


def bands(returns: NDArray[np.float64], width: int) -> dict[int, int]:
    """Count games by score, in bands that begin at multiples of `width`."""
    begins, counts = np.unique(returns // width * width, return_counts=True)
    return {int(begin): int(count) for begin, count in zip(begins, counts, strict=True)}


def checked_path(path: Path) -> Path:
    """Return a path that rows can be written to.

    Raises:
        ValueError: If its suffix says neither `.csv` nor `.json`, or its folder does not exist.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"rows are written to {' or '.join(SUFFIXES)} files, got {path}.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"the folder of {path} does not exist: make it first.")
    return path


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write rows to a file that is replaced: `.json`, or `.csv` with dictionaries as JSON cells."""
    with path.open("w", newline="") as file:
        if path.suffix == ".json":
            json.dump(list(rows), file, indent=2)
            file.write("\n")
            return
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        for row in rows:
            cells = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()}
            writer.writerow(cells)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a `.csv` file, as text by column."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
