"""The committed rows, in the order of the list of experiments, and whether they are current."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.experiments import EXPERIMENTS
from benchmarks.jobs import Wanted, is_current, wanted
from benchmarks.kinds import Experiment, Measure
from benchmarks.results import FOLDER, key_of, read

Row = dict[str, Any]


@dataclass(frozen=True)
class Committed:
    """The rows of a folder.

    Attributes:
        folder: Holds the tables' files.
        experiments: What makes the rows.
    """

    folder: Path = FOLDER
    experiments: Sequence[Experiment | Measure] = EXPERIMENTS

    def rows(self, table: str) -> list[Row]:
        """Return the rows of a table that hold a result; each says whether it `is_stale`.

        A row is stale if its version is not the present one of the agent or measure.
        """
        versions = self._versions(table)
        order = {key: place for place, key in enumerate(versions)}
        found = [
            row | {"is_stale": not is_current(row, self._version(table, row, versions))}
            for row in read(self.folder, table).values()
            if not row.get("error")
        ]
        return sorted(found, key=lambda row: order.get(key_of(table, row), len(order)))

    def _versions(self, table: str) -> Wanted:
        found: Wanted = {}
        for each in self.experiments:
            if isinstance(each, Experiment) and each.table == table:
                found |= wanted(each, self.experiments)
        return found

    def _version(self, table: str, row: Row, versions: Wanted) -> int:
        for each in self.experiments:
            if isinstance(each, Measure) and (table, row.get("measure")) in _names(each):
                return each.version
        return versions.get(key_of(table, row), 0)


def _names(measure: Measure) -> list[tuple[str, str]]:
    return [(measure.table, name) for name in measure.measures]
