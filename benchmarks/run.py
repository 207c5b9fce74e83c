"""Runs experiments: makes the rows that are missing, and writes each as soon as it is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from baselines.lock import held
from benchmarks.kinds import Experiment, Measure, minutes_of
from benchmarks.making import Maker
from benchmarks.results import VERSION, Row, add, key_of, read
from benchmarks.wanted import Wanted, is_current, wanted

Experiments = Sequence[Experiment | Measure]


def run(chosen: Experiments, experiments: Experiments, results: Path, runs: Path) -> None:
    """Make the missing rows of experiments; trained agents are resumed where they stopped.

    Args:
        chosen: The experiments whose rows are made.
        experiments: All experiments.
        results: The folder of the tables' files.
        runs: The folder of the training runs.

    Raises:
        KeyboardInterrupt: If it is interrupted; what was made before is written.
        ValueError: If another process makes rows of one of these tables.
    """
    results.mkdir(parents=True, exist_ok=True)
    tables = sorted({each.table for each in chosen})
    with ExitStack() as locks:
        for table in tables:
            path = results / f"{table}.lock"
            locks.enter_context(held(path, f"the table {table} in {results}"))
        _make(chosen, experiments, results, runs)


def _make(chosen: Experiments, experiments: Experiments, results: Path, runs: Path) -> None:
    """Make the missing rows of experiments whose tables are held."""
    maker = Maker(experiments, runs)
    for each in chosen:
        versions = wanted(each, experiments)
        missing = missing_of(each, versions, results)
        if not versions:
            print(f"{each.table}, {each.label}: left out, {_needs(each)}")
        if not missing:
            continue
        print(f"{each.table}, {each.label}: {len(missing)} of {len(versions)} rows to make")
        for rows in maker.rows(each, missing):
            named = [(key_of(each.table, row), row) for row in rows]
            add(results, each.table, [row | {VERSION: versions[key]} for key, row in named])
            for key, row in named:
                print(f"  {', '.join(filter(None, key))}: {_result(row)}", flush=True)


def missing_of(each: Experiment | Measure, versions: Wanted, results: Path) -> Wanted:
    """Return the rows of an experiment that are not there, or that another version made.

    All rows of a measure are made together, so that they come from one machine at one time.
    """
    rows = read(results, each.table)
    missing = {
        key: version
        for key, version in versions.items()
        if not (key in rows and is_current(rows[key], version))
    }
    return versions if missing and isinstance(each, Measure) else missing


def listed(chosen: Experiments, experiments: Experiments, results: Path) -> Iterator[str]:
    """Yield a line on each experiment: its table, label, rows, cost and task."""
    for each in chosen:
        versions = wanted(each, experiments)
        made = len(versions) - len(missing_of(each, versions, results))
        line = (
            f"{each.table:<11}{each.label:<34}{made:>3} of {len(versions):>2} rows"
            f"{minutes_of(each):>6.1f} min  {_task(each) if versions else _needs(each)}"
        )
        yield line.rstrip()


def _result(row: Row) -> str:
    """Return the result of a row that comes first."""
    columns = ("error", "value", "x_wins", "win", "mean")
    column = next(column for column in columns if row.get(column) is not None)
    return f"{column} {row[column]}" if column == "error" else f"{column} {row[column]:,.4g}"


def _needs(each: Experiment | Measure) -> str:
    """Return what an experiment without rows needs."""
    return f"needs pip install 'tile-envs[{each.extra}]'" if isinstance(each, Measure) else ""


def _task(each: Experiment | Measure) -> str:
    """Return what an experiment plays, and its preset."""
    if isinstance(each, Measure):
        return ""
    options = [f"{name}={value}" for name, value in (each.env_kwargs or {}).items()]
    return " ".join([each.env, *options, *([each.preset] if each.preset else [])])
