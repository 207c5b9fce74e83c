"""Measures programs from outside: the CPU time that a process took, its start-up taken off.

A program plays a short and a long list of games.  What it took longer for the long list, by the
resource usage of its process, belongs to the additional moves: start-up, loading and compilation
are the same in both.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

Command = Sequence[str]

ROOT = Path(__file__).parents[2]


class Lengths(NamedTuple):
    """The numbers of games of a short and a long list."""

    short: int
    long: int


def moves_per_second(
    command_of: Callable[[int], Command], moves_in: Callable[[str], int], lengths: Lengths
) -> float:
    """Return the moves per second of CPU time, all threads and kernel time included.

    Args:
        command_of: Returns the command that plays so many games.
        moves_in: Returns the moves that it played, from what it printed.
        lengths: The numbers of games.

    Raises:
        RuntimeError: If the program fails, or the long list took no more time than the short one.
    """
    runs = [run(command_of(games)) for games in lengths]
    (_, short), (_, long) = runs
    before, after = (moves_in(printed) for printed, _ in runs)
    if long <= short or after <= before:
        raise RuntimeError(
            f"{command_of(lengths.long)[0]}: {after:,} moves took {long:.2f} s and {before:,} "
            f"{short:.2f} s: nothing is left for the difference."
        )
    return (after - before) / (long - short)


def run(command: Command) -> tuple[str, float]:
    """Run a program; return what it printed, and the CPU time of its process in seconds.

    Raises:
        RuntimeError: If it fails.
    """
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(list(command), stdout=printed, stderr=messages, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        messages.seek(0)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {messages.read().strip()[-300:]}")
        return printed.read(), usage.ru_utime + usage.ru_stime
