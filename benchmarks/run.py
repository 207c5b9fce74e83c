"""The command `run`: makes the rows that are missing, and writes each as soon as it is made."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import tyro

from baselines.progress import Progress, number
from baselines.settings import check_writable
from baselines.training.run_folder import lock
from benchmarks.experiments import Experiments, select
from benchmarks.kinds import Executor, Wanted
from benchmarks.results import FOLDER, Row, add, commit, name_of, read
from benchmarks.rows import Committed
from tile_envs.words import counted

RESULTS = ("value", "x_wins", "win", "mean")  # the first that a row has is reported


def run(
    only: tuple[str, ...] = (),
    list_: tyro.conf.FlagCreatePairsOff[Annotated[bool, tyro.conf.arg(name="list")]] = False,
    results: Path = FOLDER,
    runs: Path = Path("runs", "benchmarks"),
    ray: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[ADDRESS]")] = None,
) -> None:
    """Make the rows of results that are missing.

    A row is kept if its key is that of the list of experiments.  A measure is made as a whole, and
    again if its rows are deleted.  Interrupted training is resumed.

    Args:
        only: Tables or experiments, such as `ntuple`, `"two cores"` or `deep/dqn`; all if not
            given.
        list_: List the experiments with their rows instead.
        results: The folder of the tables' files; another one than usual makes all rows again.
        runs: The folder of the training runs.
        ray: Do it on a cluster of Ray (extra ray): the one at this address, or without one, on this
            machine.
    """
    chosen = select(only)
    if list_:
        print("\n".join(listed(chosen, results)))
        return
    executor: Executor = in_process
    if ray is not None:
        from benchmarks.on_ray import on_ray

        executor = on_ray(*ray)
    if failures := make_missing(chosen, results, runs, executor):
        more = f" and {len(failures) - 1:,} more" if failures[1:] else ""
        sys.exit(f"failed: {failures[0].rstrip('.')}{more}; the same command tries again")


def in_process(wanted: Sequence[Wanted], runs: Path) -> Iterator[tuple[Wanted, list[Row]]]:
    """Make rows here, one after the other; see `Executor`."""
    for each in wanted:
        yield each, each.made(runs)


def make_missing(
    chosen: Experiments, results: Path, runs: Path, executor: Executor = in_process
) -> list[str]:
    """Make the missing rows of the chosen experiments, and return what has failed."""
    for folder in (results, runs):
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder)  # before hours of training
    commit()  # of the code that runs, whatever is edited meanwhile
    failures: list[str] = []
    with ExitStack() as locks:
        for table in sorted(chosen):
            path = results / f"{table}.lock"
            locks.enter_context(lock(path, f"the table {table} in {results}"))
        missing = Committed(results, chosen).missing()
        for each in missing:
            if each.needs:
                print(f"{each}: left out, {each.needs}")
        missing = [each for each in missing if not each.needs]
        if not missing:
            print("All rows are there.")
            return failures
        words = f"of {counted(len(missing), 'row')}"
        with Progress("rows", len(missing), shown=True) as progress:
            for n, (each, rows) in enumerate(executor(missing, runs), 1):
                failures += [f"{each}: {row['error']}" for row in rows if row.get("error")]
                progress.update(n, f"{n:,} {words}")
                print("\n".join(_report(each, rows)))
                add(results, each.table, rows)
    return failures


def listed(chosen: Experiments, results: Path) -> Iterator[str]:
    """Yield a heading, and a line on each experiment: its table, label, rows and their minutes."""
    every = [(table, each) for table, experiments in chosen.items() for each in experiments]
    width = max((len(each.label) for _, each in every), default=0) + 2
    yield f"{'table':<13}{'label':<{width}}{'rows made':>24}{'minutes':>9}"
    for table, experiment in every:
        rows, wanted = read(results, table), {each.key: each for each in experiment.rows(table)}
        there = {key: rows.get(name_of(table, each.name)) for key, each in wanted.items()}
        made = [row for row in rows.values() if row["key"] in there and not row.get("error")]
        old = sum(row is not None and row["key"] != key for key, row in there.items())
        number_made = f"{len({row['key'] for row in made})} of {len(there)}"
        number_made += f", {old} out of date" * bool(old)
        minutes = sum(float(row["seconds"] or 0) for row in made) / 60
        text = f"{minutes:.1f}" if minutes else ""
        yield f"{table:<13}{experiment.label:<{width}}{number_made:>24}{text:>9}".rstrip()


def _report(wanted: Wanted, rows: Sequence[Row]) -> Iterator[str]:
    failed = sum(bool(row.get("error")) for row in rows)
    if len(rows) > 4:
        yield f"{wanted}: {len(rows)} rows" + f", {failed} failed" * bool(failed)
        return
    for row in rows:
        name = ", ".join([str(wanted), *filter(None, name_of(wanted.table, row))])
        results = (f"{n} {number(row[n])}" for n in RESULTS if row.get(n) is not None)
        yield f"{name}: {row.get('error') or next(results, 'made')}"
