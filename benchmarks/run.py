"""The command `run`: makes the rows that are missing, and writes each as soon as it is made."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import tyro

from baselines.progress import Progress, number
from baselines.settings import check_writable
from baselines.training.run_folder import lock
from benchmarks.experiments import EXPERIMENTS, QUICK, select
from benchmarks.kinds import Executor, Experiment, Wanted
from benchmarks.results import FOLDER, KEY, Row, add, commit, is_made, name_of, read
from benchmarks.rows import Committed
from tile_envs.words import counted

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

    Rows are kept whose settings, seeds, budgets, searches, games and code are those of the list of
    experiments.  A measure is made as a whole, and again if its rows are deleted.  Interrupted
    training is resumed.

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
    wanted: Sequence[Wanted], runs: Path, begin: Callable[[Wanted], object]
) -> Iterator[tuple[Wanted, list[Row]]]:
    """Make rows here, one after the other; see `Executor`."""
    for each in wanted:
        begin(each)
        yield each, each.made(runs)


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
    commit()  # of the code that runs, whatever is edited meanwhile
    failures: list[str] = []
    with ExitStack() as locks:
        for table in sorted({experiment.table for experiment in chosen}):
            path = results / f"{table}.lock"
            locks.enter_context(lock(path, f"the table {table} in {results}"))
        for experiment in chosen:
            if experiment.needs:
                print(f"{experiment.table}, {experiment.label}: left out, {experiment.needs}")
        there = [experiment for experiment in chosen if not experiment.needs]
        missing = Committed(results, experiments).missing(there)
        if not missing:
            print("All rows are there.")
            return failures
        ended: list[Wanted] = []
        words = f"of {counted(len(missing), 'row')}"
        with Progress("rows", sum(each.minutes for each in missing), shown=True) as progress:

            def tell(current: str = "") -> None:
                minutes = sum(each.minutes for each in ended)
                progress.update(minutes, f"{len(ended):,} {words}{current}")

            for each, rows in executor(missing, runs, lambda each: tell(f", {each.experiment}")):
                errors = [row["error"] for row in rows if row.get("error")]
                failures += [f"{each.experiment}: {error}" for error in errors]
                ended.append(each)
                tell()
                print("\n".join(_report(each.experiment, rows)))
                add(results, each.experiment.table, rows)
    return failures


def listed(chosen: Experiments, experiments: Experiments, results: Path) -> Iterator[str]:
    """Yield a heading, and a line on each experiment: its table, label, rows, cost and task."""
    width = max((len(experiment.label) for experiment in chosen), default=0) + 2
    yield f"{'table':<13}{'label':<{width}}{'rows made':>24}{'minutes':>9}  plays"
    for experiment in chosen:
        rows = read(results, experiment.table)
        wanted = experiment.wanted(experiments)
        there = {each.key: rows.get(name_of(experiment.table, each.name)) for each in wanted}
        old = sum(row is not None and row.get(KEY) != key for key, row in there.items())
        made = f"{sum(is_made(rows.values(), key) for key in there)} of {len(wanted)}"
        made += f", {old} out of date" * bool(old)
        line = (
            f"{experiment.table:<13}{experiment.label:<{width}}{made:>24}"
            f"{sum(each.minutes for each in wanted):>9.1f}  {experiment.needs or experiment.plays}"
        )
        yield line.rstrip()


def _report(experiment: Experiment, rows: Sequence[Row]) -> Iterator[str]:
    errors = [row for row in rows if row.get("error")]
    if len(rows) > 4:
        yield f"{experiment}: {len(rows)} rows" + (f", {len(errors)} failed" if errors else "")
        return
    for row in rows:
        name = name_of(experiment.table, row)
        column = next(column for column in RESULTS if row.get(column) is not None)
        result = row[column] if column == "error" else number(row[column])
        yield f"{experiment}, {', '.join(filter(None, name))}: {column} {result}"
