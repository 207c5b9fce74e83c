"""Runs experiments: makes the rows that are missing, and writes each as soon as it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from baselines.training.lock import held
from benchmarks.jobs import Job, Wanted, is_current, jobs_of, wanted
from benchmarks.jobs_line import JobsLine
from benchmarks.kinds import Experiment, Measure, minutes_of
from benchmarks.making import JobResult, Policies, result_of
from benchmarks.results import VERSION, Row, add, key_of, read
from tile_envs.files import check_writable
from tile_envs.words import figure

Experiments = Sequence[Experiment | Measure]

FEW_ROWS = 4
"""A job with more rows is told of in one line."""

Executor = Callable[[Sequence[Job], Path, JobsLine], Iterator[JobResult]]
"""Does jobs: yields the result of each as soon as it is known, and tells the line what begins.

Jobs of one training run (`trained.folders_of`) go on with one another, in their order.
"""


def in_process(jobs: Sequence[Job], runs: Path, line: JobsLine) -> Iterator[JobResult]:
    """Do jobs here, one after the other; see `Executor`."""
    policies: Policies = {}
    for job in jobs:
        line.begin(job)
        yield result_of(job, runs, policies)


def run(
    chosen: Experiments,
    experiments: Experiments,
    results: Path,
    runs: Path,
    executor: Executor = in_process,
) -> None:
    """Make the missing rows of experiments; trained agents are resumed where they stopped.

    Args:
        chosen: The experiments whose rows are made.
        experiments: All experiments.
        results: The folder of the tables' files.
        runs: The folder of the training runs.
        executor: Where it is done.

    Raises:
        KeyboardInterrupt: If it is interrupted; what was made before is written.
        OSError: If one of the folders cannot be written to.
        RuntimeError: If a row could not be made; the others are made, and its own says why.
        ValueError: If another process makes rows of one of these tables.
    """
    for folder in (results, runs):
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder)  # before hours of training
    with ExitStack() as locks:
        for table in sorted({each.table for each in chosen}):
            path = results / f"{table}.lock"
            locks.enter_context(held(path, f"the table {table} in {results}"))
        jobs = _jobs(chosen, experiments, results)
        if not jobs:
            print("All rows are there.")
            return
        failures = _make(jobs, results, runs, executor)
    if failures:
        more = f" and {len(failures) - 1:,} more" if failures[1:] else ""
        raise RuntimeError(f"failed: {failures[0].rstrip('.')}{more}; the same command tries again")


def _make(jobs: Sequence[Job], results: Path, runs: Path, executor: Executor) -> list[str]:
    """Do jobs, write their rows, and return what went wrong."""
    failures = []
    with JobsLine(jobs) as line:
        for job, rows, error in executor(jobs, runs, line):
            table, versions = job.experiment.table, job.wanted
            line.done(job)
            if error:  # its rows have no version, and are made again
                failures.append(f"{job}: {error}")
                print(f"{job}: failed, {error}")
            else:
                rows = [row | {VERSION: versions[key_of(table, row)]} for row in rows]
                print("\n".join(_said(job, rows)))
            add(results, table, rows)
    return failures


def _jobs(chosen: Experiments, experiments: Experiments, results: Path) -> list[Job]:
    """Return the jobs of the rows that are not there, or that another version made."""
    jobs = []
    planned: Wanted = {}  # rows of pairings are those of both experiments
    for each in chosen:
        of_each = jobs_of(each, experiments)
        if not of_each:
            print(f"{each.table}, {each.label}: left out, {_needs(each)}")
        rows = read(results, each.table)
        for job in of_each:
            missing = job.without(_made(job.wanted, rows) | (planned if job.pairs else {}))
            jobs += [missing] if missing else []
            planned |= job.wanted
    return jobs


def _made(versions: Wanted, rows: dict[tuple[str, ...], Row]) -> Wanted:
    return {
        key: version
        for key, version in versions.items()
        if key in rows and is_current(rows[key], version)
    }


def listed(chosen: Experiments, experiments: Experiments, results: Path) -> Iterator[str]:
    """Yield a heading, and a line on each experiment: its table, label, rows, cost and task."""
    width = max((len(each.label) for each in chosen), default=0) + 2
    yield f"{'table':<11}{'label':<{width}}{'rows made':>13}{'minutes':>9}  plays"
    for each in chosen:
        versions = wanted(each, experiments)
        made = len(_made(versions, read(results, each.table)))
        line = (
            f"{each.table:<11}{each.label:<{width}}{f'{made} of {len(versions)}':>13}"
            f"{minutes_of(each):>9.1f}  {_task(each) if versions else _needs(each)}"
        )
        yield line.rstrip()


def _said(job: Job, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines that tell of a job's rows, one each if they are few."""
    if len(rows) > FEW_ROWS:
        yield f"{job}: {len(rows)} rows"
        return
    for row in rows:
        key = key_of(job.experiment.table, row)
        yield f"{job}, {', '.join(filter(None, key))}: {_result(row)}"


def _result(row: Row) -> str:
    """Return the result of a row that comes first."""
    columns = ("error", "value", "x_wins", "win", "mean")
    column = next(column for column in columns if row.get(column) is not None)
    return f"{column} {row[column] if column == 'error' else figure(row[column])}"


def _needs(each: Experiment | Measure) -> str:
    """Return what an experiment without rows needs."""
    return f"needs pip install 'tile-envs[{each.extra}]'" if isinstance(each, Measure) else ""


def _task(each: Experiment | Measure) -> str:
    """Return what an experiment plays, and its preset."""
    if isinstance(each, Measure):
        return ""
    options = [f"{name}={value}" for name, value in (each.env_kwargs or {}).items()]
    return " ".join([each.env, *options, *([each.preset] if each.preset else [])])
