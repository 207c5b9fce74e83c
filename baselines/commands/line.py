"""The command line: which commands there are, and the one that was typed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tyro

from baselines.commands.compare import compare
from baselines.commands.evaluate import evaluate
from baselines.commands.export import export
from baselines.commands.play import play
from baselines.commands.plot import plot
from baselines.commands.record import record
from baselines.commands.solve import solve
from baselines.commands.train import command, train
from baselines.commands.watch import watch
from baselines.progress import Progress
from baselines.registry import AGENTS
from tile_envs.errors import UsageError
from tile_envs.games import import_named

LEARNERS = ", ".join(name for name, entry in AGENTS.items() if entry.learns)
IMPORT = "--import"

COMMANDS: dict[str, Callable[..., Any]] = {
    "train": train,
    "evaluate": evaluate,
    "solve": solve,
    "watch": watch,
    "play": play,
    "record": record,
    "plot": plot,
    "compare": compare,
    "export": export,
}


def run_typed() -> None:
    """Run the command that was typed.

    Raises:
        ValueError: If something in it is unusable; so do the commands.
    """
    Progress.enabled = True
    _import_named_modules()
    if sys.argv[1:2] == ["train"] and sys.argv[2:3] and not sys.argv[2].startswith("-"):
        command(sys.argv[2], sys.argv[3:])
        return
    tyro.extras.subcommand_cli_from_dict(
        COMMANDS,
        prog="python -m baselines",
        description=(
            "Train and evaluate agents on the environments of tile_envs. "
            f"Agents: {', '.join(AGENTS)}; those that are trained: {LEARNERS}. "
            f"{IMPORT} MODULE, on any command, first imports a module with games or agents "
            "of your own, and can be repeated."
        ),
    )


def _import_named_modules() -> None:
    """Import the modules of `--import MODULE`, and take these options from the command line."""
    while IMPORT in sys.argv:
        place = sys.argv.index(IMPORT)
        if place + 1 == len(sys.argv):
            raise UsageError(f"{IMPORT} needs the name of a module.")
        import_named(sys.argv[place + 1])
        del sys.argv[place : place + 2]
