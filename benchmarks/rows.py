"""The rows that tables and figures show: committed ones, and those that others have published."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from benchmarks.experiments import EXPERIMENTS
from benchmarks.kinds import Experiment, Wanted
from benchmarks.results import FOLDER, KEY, SEARCH, Row, is_made, name_of, read

PUBLISHED = Path(__file__).parent / "published.yml"
"""The one home of results that others have published."""
MARK = " †"
"""What marks a row that the list of experiments no longer asks for."""
DOWNGRADED = "downgraded from"
"""What tables and figures write before the tile from which on a search downgrades boards."""
FEWEST = 60
"""The best results are those of rows of so many games at least."""


@dataclass(frozen=True)
class Committed:
    """The rows in a folder of the tables' files, and the experiments that make them."""

    folder: Path = FOLDER
    experiments: Sequence[Experiment] = EXPERIMENTS

    @cached_property
    def wanted(self) -> dict[str, dict[str, Wanted]]:
        """What the experiments ask for, by table and key."""
        wanted: dict[str, dict[str, Wanted]] = {each.table: {} for each in self.experiments}
        for each in self.experiments:  # of which two ask for a pairing
            wanted[each.table] |= {row.key: row for row in each.wanted(self.experiments)}
        return wanted

    def rows(self, table: str, env: str = "") -> list[Row]:
        """Return the rows of a table that hold a result, in the order of the experiments.

        With `env`, only those of this environment with its usual options.  Each says whether it
        `is_stale`: its key is none of those that the experiments ask for.
        """
        wanted = self.wanted.get(table, {})
        places = {name_of(table, each.name): n for n, each in enumerate(wanted.values())}
        rows = [row for row in read(self.folder, table).values() if not row.get("error")]
        if env:
            rows = [row for row in rows if (row["env"], row["env_kwargs"]) == (env, "{}")]
        for row in rows:
            row["is_stale"] = row.get(KEY) not in wanted
        return sorted(rows, key=lambda row: places.get(name_of(table, row), len(places)))

    def missing(self, chosen: Sequence[Experiment] | None = None) -> list[Wanted]:
        """Return what these experiments, all if None, ask for and no row holds."""
        chosen = self.experiments if chosen is None else chosen
        rows = {table: read(self.folder, table).values() for table in {e.table for e in chosen}}
        missing: dict[tuple[str, str], Wanted] = {}  # a pairing is a row of two experiments
        for experiment in chosen:
            for each in experiment.wanted(self.experiments):
                if not is_made(rows[experiment.table], each.key):
                    missing.setdefault((experiment.table, each.key), each)
        return list(missing.values())


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
def _read() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
    return content


def group(rows: Iterable[Row], *columns: str) -> list[list[Row]]:
    """Return the rows that have the same in these columns, each time in a list."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(column) for column in columns), []).append(row)
    return list(groups.values())


def learned(committed: Committed, *tables: str, env: str = "") -> list[Row]:
    """Return the rows of learners, each with the number of seeds that its experiment `wants`."""
    rows = []
    for table in tables:
        made_by: Any = [each for each in committed.experiments if each.table == table]
        wants = {(each.training.env, each.label): each.seeds for each in made_by}
        for row in committed.rows(table, env) if wants else ():
            rows.append(row | {"wants": wants.get((row["env"], row["label"]), 1)})
    return rows


def by_seeds(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the rows of learners in lists that differ by the training seed alone."""
    return group(rows, "env", "label", "minutes", *SEARCH, "placer")


def seeds(rows: Sequence[Row]) -> str:
    """Return how many training seeds rows have, and of how many if some are missing."""
    n, wanted = len({row["train_seed"] for row in rows}), int(rows[0]["wants"])
    return f"{n} of {wanted}" if n < wanted else f"{n}"


def kind(row: Row) -> str:
    """Return what a learner is in one or two words."""
    if row["agent"] == "ntuple":
        return "n-tuple network"
    text = f"{row.get('network')} {row['label']}".lower()
    return "CNN" if "cnn" in text or "convol" in text else "looked-up patterns"


def reached(row: Mapping[str, Any]) -> dict[int, float]:
    """Return the fraction of games that reached each tile, by its value."""
    return {int(tile): fraction for tile, fraction in json.loads(row["reach"]).items()}


def search_name(row: Row) -> str:
    """Return what is searched for a move."""
    time, drawn, tile = map(row.get, ("milliseconds", "samples", "downgrade"))
    searched = f"{float(time):g} ms" if time else f"{row['depth']}-ply" if row.get("depth") else ""
    searched += f", {drawn} drawn" if str(drawn or 0) != "0" else ""
    return f"{searched}, {DOWNGRADED} {tile}" if tile else searched


def looks_ahead(row: Row) -> bool:
    """Return whether a search looked further ahead than one move."""
    return (row.get("depth") or "1") != "1"


def cores(row: Row) -> int:
    """Return how many cores played; rows that do not say so searched on all that had learned."""
    return int(row.get("cores") or (row["threads"] if looks_ahead(row) else 1))


def minutes(value: Any) -> str:
    """Return a number of minutes without needless digits; nothing for none."""
    return f"{float(value):g}" if value else ""
