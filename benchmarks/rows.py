"""The committed rows as tables and figures show them, beside what the experiments ask for."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from baselines.evaluation.intervals import difference
from baselines.training.learner import learner_class
from benchmarks.experiments import EXPERIMENTS, Experiments
from benchmarks.kinds import Wanted
from benchmarks.results import FOLDER, Row, name_of, read
from benchmarks.training import defaults_of
from tile_envs.words import counted

MARK = " †"  # of a row whose key is none of today's experiments
FEWEST = 60  # games of a row that may be the best result


@dataclass(frozen=True)
class Committed:
    """The rows in a folder of the tables' files, and the experiments that make them."""

    folder: Path = FOLDER
    experiments: Experiments = field(default_factory=lambda: EXPERIMENTS)

    @cached_property
    def wanted(self) -> dict[str, dict[str, Wanted]]:
        """What the experiments ask for, by table and key."""
        return {
            table: {row.key: row for each in experiments for row in each.rows(table)}
            for table, experiments in self.experiments.items()
        }

    def rows(self, *tables: str, env: str = "") -> list[Row]:
        """Return the rows of tables that hold a result, in the order of the experiments.

        With `env`, only those of this environment with its usual options.  Each says whether it
        `is_stale`, and of a learner, how many seeds are wanted.
        """
        rows = [row for table in tables for row in self._rows(table)]
        return [r for r in rows if not env or (r["env"], r["env_kwargs"]) == (env, "{}")]

    def _rows(self, table: str) -> list[Row]:
        wanted = self.wanted.get(table, {})
        places = {name_of(table, each.name): n for n, each in enumerate(wanted.values())}
        names = {(e.name.get("env"), e.label, e.name.get("train_seed")) for e in wanted.values()}
        seeds = Counter((env, label) for env, label, _ in names)
        rows = [row for row in read(self.folder, table).values() if not row.get("error")]
        for row in rows:
            row["is_stale"] = row["key"] not in wanted
            row["wants"] = seeds[row.get("env"), row.get("label")]
        return sorted(rows, key=lambda row: places.get(name_of(table, row), len(places)))

    def missing(self) -> list[Wanted]:
        """Return what the experiments ask for and no row holds, or some row with an error."""
        missing: list[Wanted] = []
        for table, wanted in self.wanted.items():
            rows = read(self.folder, table).values()
            made = {row["key"] for row in rows} - {row["key"] for row in rows if row.get("error")}
            missing += [row for key, row in wanted.items() if key not in made]
        return missing


def mark(rows: Iterable[Row]) -> str:
    """Return a mark if one of the rows is out of date."""
    return MARK * any(row.get("is_stale") for row in rows)


def group(rows: Iterable[Row], *columns: str) -> list[list[Row]]:
    """Return the rows that have the same in these columns, each time in a list."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(column) for column in columns), []).append(row)
    return list(groups.values())


def seeds(rows: Sequence[Row]) -> str:
    """Return how many training seeds rows have, and of how many if some are missing."""
    n, wanted = len({row["train_seed"] for row in rows}), int(rows[0]["wants"])
    return f"{n} of {wanted}" if n < wanted else f"{n}"


def settings_of(row: Row) -> Any:
    """Return the settings of a learner with which a row was made, those that there still are."""
    kind = learner_class(row["agent"]).Settings
    made = {**defaults_of(row["agent"]), **json.loads(row["record"]).get("settings", {})}
    return kind(**{each.name: made[each.name] for each in fields(kind)})


def kind(row: Row) -> str:
    if row["agent"] == "ntuple":
        return "n-tuple network"
    return "CNN" if getattr(settings_of(row), "network", "") == "cnn" else "pattern embeddings"


def trained(rows: Sequence[Row]) -> str:
    minutes, games = rows[0]["minutes"], fmean(float(row["games_learned"]) for row in rows)
    budget = f"{float(minutes):g} min" if minutes else f"{games:,.0f} games"
    return f"{budget}, {counted(int(rows[0]['threads']), 'core')}"


def mean_of(rows: Sequence[Row], column: str = "mean") -> float:
    """Return the mean over seeds."""
    return fmean(float(row[column]) for row in rows)


def bounds(rows: Sequence[Row], column: str = "mean") -> tuple[float, float]:
    """Return a 95 % interval: of several seeds Student's over seeds, of one that over its games."""
    if not rows[1:]:
        return float(rows[0]["low"]), float(rows[0]["high"])
    values = np.array([float(row[column]) for row in rows])
    _, low, high = difference(values, np.zeros(1), are_paired=True)[0]
    return max(0.0, low), high


def reached(row: Mapping[str, Any]) -> dict[int, float]:
    """Return the fraction of games that reached each tile, by its value."""
    return {int(tile): fraction for tile, fraction in json.loads(row["reach"]).items()}


def search_name(row: Row) -> str:
    time, drawn, tile = map(row.get, ("milliseconds", "samples", "downgrade"))
    searched = f"≤ {float(time):g} ms" if time else f"{row['depth']}-ply" if row["depth"] else ""
    searched += f", {drawn} drawn" if str(drawn or 0) != "0" else ""
    return f"{searched}, downgraded from {tile}" if tile else searched


def looks_ahead(row: Row) -> bool:
    return (row.get("depth") or "1") != "1"
