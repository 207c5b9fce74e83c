"""The rows that tables and figures show: committed ones, and those that others have published."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median_high
from typing import Any

import yaml

from benchmarks.experiments import EXPERIMENTS
from benchmarks.jobs import Experiment, Measure
from benchmarks.results import FOLDER, VERSION, Row, key_of, read

PUBLISHED = Path(__file__).parent / "published.yml"
"""The one home of results that others have published."""
MARK = " †"
"""What marks a row that an earlier version made."""


@dataclass(frozen=True)
class Committed:
    """The rows in a folder of the tables' files, and the experiments that make them."""

    folder: Path = FOLDER
    experiments: Sequence[Experiment] = EXPERIMENTS

    def rows(self, table: str, env: str = "") -> list[Row]:
        """Return the rows of a table that hold a result, in the order of the experiments.

        With `env`, only those of this environment with its usual options.  Each says whether it
        `is_stale`: its version is not the present one of the agent or measure.
        """
        versions: dict[Any, int] = {}
        for experiment in self.experiments:
            if experiment.table != table:
                continue
            if isinstance(experiment, Measure):  # what it measures may not be installed here
                versions[experiment.measure] = experiment.version
            else:
                versions |= experiment.wanted(self.experiments)
        places = {key: place for place, key in enumerate(versions)}
        rows = [row for row in read(self.folder, table).values() if not row.get("error")]
        if env:
            rows = [row for row in rows if (row["env"], row["env_kwargs"]) == (env, "{}")]
        for row in rows:
            names = (row.get("measure"), key_of(table, row), "")
            version = next((versions[name] for name in names if name in versions), 0)
            row["is_stale"] = row.get(VERSION) != str(version)
        return sorted(rows, key=lambda row: places.get(key_of(table, row), len(places)))


@dataclass(frozen=True)
class Source:
    """Where a result was published, as texts for people.

    Attributes:
        year: The year, or "undated".
        link: The address, or "unknown".
        name: How tables cite it; by default the first author's surname and the year.
    """

    author: str
    title: str
    year: int | str
    link: str
    name: str = ""

    @property
    def citation(self) -> str:
        """How it is cited, without a link: "H. Guei, L.-P. Chen and I-C. Wu" -> "Guei et al."."""
        names = [name.split(". ")[-1] for name in re.split(", | and ", self.author)]
        authors = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        return f"{self.name or authors}, {self.year}"

    def __str__(self) -> str:
        """Return the citation in Markdown, with a link if there is one."""
        return f"[{self.citation}]({self.link})" if self.link.startswith("http") else self.citation


def sources() -> dict[str, Source]:
    """Return all sources by the names that results use."""
    return {name: Source(**source) for name, source in _read()["sources"].items()}


def published(name: str) -> list[Row]:
    """Return one of the lists of published results, each with its `Source`."""
    source_of = sources()
    return [{**row, "source": source_of[row["source"]]} for row in _read()["figures"][name]]


def best_published(name: str, searches: bool) -> Row | None:
    """Return the highest mean score under the standard rules, with or without search."""
    compared = [
        row
        for row in published(name)
        if isinstance(row.get("mean"), int | float)
        and not row.keys() & {"doubt", "spawn"}
        and (row.get("depth") != 1) == searches
    ]
    return max(compared, key=lambda row: float(row["mean"]), default=None)


@cache
def _read() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
    return content


def group(rows: Iterable[Row], *columns: str) -> list[list[Row]]:
    """Return the rows that have the same in these columns, each time in a list."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(column) for column in columns), []).append(row)
    return list(groups.values())


def reached(row: Mapping[str, Any]) -> dict[int, float]:
    """Return the fraction of games that reached each tile, by its value."""
    return {int(tile): fraction for tile, fraction in json.loads(row["reach"]).items()}


def search_name(row: Row) -> str:
    """Return what is searched for a move."""
    time, drawn, tile = map(row.get, ("milliseconds", "samples", "downgrade"))
    searched = f"{time} ms" if time else f"{row['depth']}-ply" if row.get("depth") else ""
    searched += f", {drawn} drawn" if str(drawn or 0) != "0" else ""
    return f"{searched}, downgraded from {tile}" if tile else searched


def minutes(value: Any) -> str:
    """Return a number of minutes without needless digits; nothing for none."""
    return f"{float(value):g}" if value else ""


def median_seconds(rows: Sequence[Row]) -> float:
    """Return the median time of training; of an even number of rows, the higher of the middle."""
    return median_high(float(row["seconds"]) for row in rows)
