"""The commands of `python -m benchmarks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from benchmarks.experiments import EXPERIMENTS, selected
from benchmarks.results import FOLDER


def run(
    only: tuple[str, ...] = (),
    list_: tyro.conf.FlagCreatePairsOff[Annotated[bool, tyro.conf.arg(name="list")]] = False,
    results: Path = FOLDER,
    runs: Path = Path("runs", "benchmarks"),
) -> None:
    """Make the rows of results that are missing.

    Rows that are there, made by the present version of their agent or measure, are kept.
    Interrupted training is resumed.

    Args:
        only: Tables or experiments, such as `ntuple`, `"two cores"` or `deep/dqn`; all if not
            given.
        list_: List the experiments with their rows and minutes instead.
        results: The folder of the tables' files.
        runs: The folder of the training runs.
    """
    from benchmarks.run import listed
    from benchmarks.run import run as make

    chosen = selected(only)
    if list_:
        print("\n".join(listed(chosen, EXPERIMENTS, results)))
    else:
        make(chosen, EXPERIMENTS, results, runs)


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
