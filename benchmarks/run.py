"""The command `run`: makes the rows that are missing, and writes each as soon as it is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import tyro

from baselines.progress import Progress
from baselines.training.run_folder import lock
from benchmarks.experiments import EXPERIMENTS, QUICK, select
from benchmarks.jobs import Executor, Experiment, Job, JobResult, Wanted
from benchmarks.results import FOLDER, VERSION, Row, add, key_of, read
from benchmarks.rows import Committed
from tile_envs.files import check_writable
from tile_envs.words import counted, number

Experiments = Sequence[Experiment]

RESULTS = ("error", "value", "x_wins", "win", "mean")
"""The columns of results: the first that a row has is reported."""


def run(
    only: tuple[str, ...] = (),
    quick: tyro.conf.FlagCreatePairsOff[bool] = False,
    list_: tyro.conf.FlagCreatePairsOff[Annotated[bool, tyro.conf.arg(name="list")]] = False,
    results: Path | None = None,
    runs: Path | None = None,
    ray: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[ADDRESS]")] = None,
) -> None:
    """Make the rows of results that are missing.

    Rows that are there, made by the present version of their agent or measure, are kept.
    Interrupted training is resumed.

    Args:
        only: Tables or experiments, such as `ntuple`, `"two cores"` or `deep/dqn`; all if not
            given.
        quick: Make the rows of a short list instead, with every agent and environment, in minutes;
            and print them beside the published results.
        list_: List the experiments with their rows and minutes instead.
        results: The folder of the tables' files: those of this repository, or if quick,
            runs/quick/results.
        runs: The folder of the training runs: runs/benchmarks, or if quick, runs/quick.
        ray: Do it on a cluster of Ray (extra ray): the one at this address, or without one, on this
            machine.
    """
    experiments = QUICK if quick else EXPERIMENTS
    chosen = select(only, experiments)
    runs = runs or Path("runs", "quick" if quick else "benchmarks")
    results = results or (runs / "results" if quick else FOLDER)
    if list_:
        print("\n".join(listed(chosen, experiments, results)))
        return
    executor: Executor = in_process
    if ray is not None:
        from benchmarks.on_ray import on_ray

        executor = on_ray(*ray)
    failures = make_missing(chosen, experiments, results, runs, executor)
    if quick:
        from benchmarks.tables import summary

        print(summary(Committed(results, chosen)))
    if failures:
        more = f" and {len(failures) - 1:,} more" if failures[1:] else ""
        sys.exit(f"failed: {failures[0].rstrip('.')}{more}; the same command tries again")


def in_process(
    jobs: Sequence[Job], runs: Path, begin: Callable[[Job], object]
) -> Iterator[JobResult]:
    """Do jobs here, one after the other; see `Executor`."""
    for job in jobs:
        begin(job)
        yield job.make(runs)


def make_missing(
    chosen: Experiments,
    experiments: Experiments,
    results: Path,
    runs: Path,
    executor: Executor = in_process,
) -> list[str]:
    """Make the missing rows of those experiments that are chosen, and return what has failed.

    Raises:
        OSError: If the folder of the tables' files or that of the runs cannot be written to.
        ValueError: If another process makes rows of one of these tables.
    """
    for folder in (results, runs):
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder)  # before hours of training
    failures: list[str] = []
    with ExitStack() as locks:
        for table in sorted({experiment.table for experiment in chosen}):
            path = results / f"{table}.lock"
            locks.enter_context(lock(path, f"the table {table} in {results}"))
        jobs = _missing(chosen, experiments, results)
        if not jobs:
            print("All rows are there.")
            return failures
        ended: list[Job] = []
        words = f"of {counted(len(jobs), 'job')}"
        with Progress("jobs", sum(job.minutes for job in jobs), shown=True) as progress:

            def tell(current: str = "") -> None:
                minutes = sum(job.minutes for job in ended)
                progress.update(minutes, f"{len(ended):,} {words}{current}")

            for job, rows in executor(jobs, runs, lambda job: tell(f", {job}")):
                table, versions = job.experiment.table, job.wanted
                for row in rows:
                    if row.get("error"):  # without a version, it is made again
                        failures.append(f"{job}: {row['error']}")
                    else:
                        row[VERSION] = versions[key_of(table, row)]
                ended.append(job)
                tell()
                print("\n".join(_report(job, rows)))
                add(results, table, rows)
    return failures


def _missing(chosen: Experiments, experiments: Experiments, results: Path) -> list[Job]:
    jobs = []
    planned: Wanted = {}  # a pairing is a row of both experiments
    for experiment in chosen:
        all_jobs = experiment.jobs(experiments)
        if not all_jobs:
            print(f"{experiment.table}, {experiment.label}: left out, {experiment.describe()}")
        rows = read(results, experiment.table)
        for job in all_jobs:
            missing = job.without(_made(job.wanted, rows) | planned)
            jobs += [missing] if missing.rows else []
            planned |= job.wanted
    return jobs


def _made(wanted: Wanted, rows: dict[tuple[str, ...], Row]) -> Wanted:
    return {key: v for key, v in wanted.items() if rows.get(key, {}).get(VERSION) == str(v)}


def listed(chosen: Experiments, experiments: Experiments, results: Path) -> Iterator[str]:
    """Yield a heading, and a line on each experiment: its table, label, rows, cost and task."""
    width = max((len(experiment.label) for experiment in chosen), default=0) + 2
    yield f"{'table':<11}{'label':<{width}}{'rows made':>13}{'minutes':>9}  plays"
    for experiment in chosen:
        wanted = experiment.wanted(experiments)
        made = len(_made(wanted, read(results, experiment.table)))
        line = (
            f"{experiment.table:<11}{experiment.label:<{width}}{f'{made} of {len(wanted)}':>13}"
            f"{experiment.total_minutes:>9.1f}  {experiment.describe()}"
        )
        yield line.rstrip()


def _report(job: Job, rows: Sequence[Row]) -> Iterator[str]:
    errors = [row for row in rows if row.get("error")]
    if len(rows) > 4:
        yield f"{job}: {len(rows)} rows" + (f", {len(errors)} failed" if errors else "")
        return
    for row in rows:
        key = key_of(job.experiment.table, row)
        column = next(column for column in RESULTS if row.get(column) is not None)
        result = row[column] if column == "error" else number(row[column])
        yield f"{job}, {', '.join(filter(None, key))}: {column} {result}"
