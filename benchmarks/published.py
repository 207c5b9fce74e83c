"""Results that others have published, from `published.yml`."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from benchmarks.results import Row

PUBLISHED = Path(__file__).with_suffix(".yml")


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
        return f"[{self.citation}]({self.link})" if self.link.startswith("http") else self.citation


def sources() -> dict[str, Source]:
    """Return all sources by the names that results use."""
    return {name: Source(**source) for name, source in _read()["sources"].items()}


def published(name: str) -> list[Row]:
    """Return one of the lists of published results, each with its `Source`."""
    source_of = sources()
    return [{**row, "source": source_of[row["source"]]} for row in _read()["figures"][name]]


def best_published(name: str, depth: int) -> Row | None:
    """Return the highest mean score under the standard rules at this depth, or else the next one.

    A result of a search less deep is not compared.
    """
    compared = [
        row
        for row in published(name)
        if isinstance(row.get("mean"), int | float)
        and isinstance(row.get("depth"), int)
        and row["depth"] >= depth
        and not row.keys() & {"doubt", "spawn"}
    ]
    return min(compared, key=lambda row: (row["depth"], -row["mean"]), default=None)


@cache
def _read() -> Any:
    return yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
