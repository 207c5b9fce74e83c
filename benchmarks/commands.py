"""The commands of `python -m benchmarks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from benchmarks.experiments import EXPERIMENTS, selected
from benchmarks.quick import QUICK
from benchmarks.results import FOLDER

RUNS = Path("runs", "benchmarks")
QUICK_RUNS = Path("runs", "quick")


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
    from benchmarks.run import in_process, listed
    from benchmarks.run import run as make
    from benchmarks.tables.committed import Committed
    from benchmarks.tables.quick import summary

    experiments = QUICK if quick else EXPERIMENTS
    chosen = selected(only, experiments)
    runs = runs or (QUICK_RUNS if quick else RUNS)
    results = results or (runs / "results" if quick else FOLDER)
    if list_:
        print("\n".join(listed(chosen, experiments, results)))
        return
    executor = in_process
    if ray is not None:
        from benchmarks.on_ray import on_ray

        executor = on_ray(*ray)
    make(chosen, experiments, results, runs, executor)
    if quick:
        print(summary(Committed(results, chosen)))


def report() -> None:
    """Write the tables of README.md and benchmarks/README.md from the rows."""
    from benchmarks.report import write_pages

    write_pages()


def run_typed() -> None:
    """Run the command that was typed.

    Raises:
        ValueError: If something in it is unusable.
    """
    tyro.extras.subcommand_cli_from_dict(
        {"run": run, "report": report},
        prog="python -m benchmarks",
        description="Make the rows of results, and the pages that show them.",
    )
