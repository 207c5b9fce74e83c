"""Reads `published.yml`, the one home of figures that others have published."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).parent / "published.yml"
Figure = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """Where a figure was published, as texts for people.

    Attributes:
        author: The author, or the authors.
        title: The title.
        year: The year, or "undated".
        link: The address, or "unknown".
        name: How tables cite it; by default the first author's surname and the year.
    """

    author: str
    title: str
    year: str
    link: str
    name: str = ""

    @property
    def citation(self) -> str:
        """How it is cited, without a link."""
        return f"{self.name or _surnames(self.author)}, {self.year}"

    def __str__(self) -> str:
        """Return the citation in Markdown, with a link if there is one."""
        return f"[{self.citation}]({self.link})" if self.link.startswith("http") else self.citation


def _surnames(author: str) -> str:
    """Return how authors are cited: "H. Guei, L.-P. Chen and I-C. Wu" -> "Guei et al."."""
    names = [name.split(". ")[-1] for name in re.split(", | and ", author)]
    return " and ".join(names) if len(names) < 3 else f"{names[0]} et al."


def sources() -> dict[str, Source]:
    """Return all sources by the names that figures use."""
    return {
        name: Source(**{key: str(value) for key, value in source.items()})
        for name, source in _read()["sources"].items()
    }


def figures(name: str) -> list[Figure]:
    """Return one of the lists of figures, each with its `Source`."""
    known = sources()
    return [{**figure, "source": known[figure["source"]]} for figure in _read()["figures"][name]]


def best(name: str, searches: bool) -> Figure | None:
    """Return the highest mean score under the standard rules, with or without search."""
    compared = [
        figure
        for figure in figures(name)
        if isinstance(figure.get("mean"), int | float)
        and not figure.keys() & {"doubt", "spawn"}
        and (figure.get("depth") != 1) == searches
    ]
    return max(compared, key=lambda figure: float(figure["mean"]), default=None)


def lists() -> list[str]:
    """Return the names of the lists of figures."""
    return list(_read()["figures"])


@cache
def _read() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
    return content
