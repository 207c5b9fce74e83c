"""Measures n-tuple networks: training, greedy play and search, beside TDL2048+ if it is there.

Both programs are measured from outside, by the CPU time of their processes on one core (`outside`),
in alternating turns.  Both learn from the same numbers of games, and play the games that their own
networks and searches lead to, without and with a transposition table; the faster way counts.

TDL2048+ is at github.com/moporgic/TDL2048; its program `2048`, built with `make`, is named by the
environment variable TDL2048, or stands on the PATH as `tdl2048`.  Two threads are measured by wall
clock, as a multiple of one.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.results import Row
from benchmarks.speed.ntuple_games import learner_of
from benchmarks.speed.outside import Command, Lengths, moves_per_second, run
from benchmarks.speed.turns import now, statistics_of
from tile_envs.errors import UsageError

OURS, PEER = "tile-envs", "TDL2048+"
THREADS = "two threads against one, TC"
ALPHAS = {"TD(0)": "0.1", "TC": "1.0"}
PLAYED = "TD(0)"
"""The method of the networks that play."""
CACHES: tuple[tuple[str, ...], ...] = ((), ("-c", "64M"))
"""The transposition tables that TDL2048+ is measured with; its larger ones are slower."""


@dataclass(frozen=True)
class Size:
    """How much is learned and played in a turn.

    Attributes:
        network: The network's tuples.
        trained: Games of training, by method.
        taught: Games from which the networks that play have learned.
        greedy: Games that are played greedily.
        searched: Games that are played with a search, by its depth.
        iteration_games: Games of an iteration by two threads.
        threaded_iterations: Iterations by two threads.  The first half does not count, since
            virtual machines get a second core only when it is in demand.
        peer: Whether TDL2048+ is measured.
    """

    network: str = "4x6"
    trained: Mapping[str, Lengths] = field(
        default_factory=lambda: {"TD(0)": Lengths(2_000, 14_000), "TC": Lengths(1_000, 6_000)}
    )
    taught: int = 20_000
    greedy: Lengths = field(default_factory=lambda: Lengths(1_000, 8_000))
    searched: Mapping[int, Lengths] = field(
        default_factory=lambda: {2: Lengths(20, 140), 3: Lengths(2, 8)}
    )
    iteration_games: int = 500
    threaded_iterations: int = 40
    peer: bool = True


class Task(NamedTuple):
    """What is measured.

    Attributes:
        name: The name of the measure.
        method: The method that is learned, or that the network that plays has learned by.
        games: The numbers of games.
        depth: The depth of the search; 0 learns.
    """

    name: str
    method: str
    games: Lengths
    depth: int = 0


class Candidate(NamedTuple):
    """A program with its options, for one task.

    Attributes:
        package: Whose it is.
        options: What it is given beside the task, for people to read.
        command_of: Returns the command that plays so many games.
        moves_in: Returns the number of moves in what it prints.
    """

    package: str
    options: str
    command_of: Callable[[int], Command]
    moves_in: Callable[[str], int]


def keys(turns: int, **options: Any) -> list[Row]:
    """Return the columns that name each row that can be made on this machine."""
    size = Size(**options)
    names = [task.name for task in _tasks(size)]
    ours = [{"measure": name, "package": OURS} for name in [*names, THREADS]]
    theirs = [{"measure": name, "package": PEER} for name in names if _program(size)]
    return ours + theirs


def rows(turns: int, **options: Any) -> list[Row]:
    """Measure so many turns, ours and the peer's in alternation.

    Args:
        turns: The number of turns.
        **options: Those of `Size`.
    """
    size, began = Size(**options), now()
    speeds: dict[tuple[str, str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        candidates = _candidates(size, Path(folder))
        for task, candidate in candidates:  # compiled loops are on disk from now on
            run(candidate.command_of(task.games.short))
        for _ in range(turns):
            for task, candidate in candidates:
                package, options_, command_of, moves_in = candidate
                speed = moves_per_second(command_of, moves_in, task.games)
                speeds.setdefault((task.name, package, options_), []).append(speed)
            speeds.setdefault((THREADS, OURS, ""), []).append(_two_threads(size))
    best: dict[tuple[str, str], Row] = {}
    for (name, package, options_), values in speeds.items():
        key = {"measure": name, "package": package, "options": options_, "run": began}
        row = key | statistics_of(values)
        if row["value"] > best.get((name, package), {"value": 0.0})["value"]:
            best[name, package] = row
    return list(best.values())


def _tasks(size: Size) -> list[Task]:
    network = size.network
    trained = [Task(f"{network} {m} training", m, games) for m, games in size.trained.items()]
    greedy = Task(f"{network} greedy play", PLAYED, size.greedy, depth=1)
    searched = [
        Task(f"{network} search, {depth}-ply", PLAYED, games, depth)
        for depth, games in size.searched.items()
    ]
    return [*trained, greedy, *searched]


def _candidates(size: Size, folder: Path) -> list[tuple[Task, Candidate]]:
    """Let networks learn that will play, and return what is measured."""
    tasks, program = _tasks(size), _program(size)
    run(_our_command(size, folder / "taught.npz", PLAYED, size.taught))
    found = [(task, _ours(size, folder / "taught.npz", task)) for task in tasks]
    if program:
        taught = folder / "taught.w"
        run([*_their_command(size, program, PLAYED), "-t", f"1x{size.taught}", "-o", str(taught)])
        for task in tasks:
            caches = CACHES if task.depth > 1 else CACHES[:1]
            found += [(task, _theirs(size, program, taught, task, cache)) for cache in caches]
    return sorted(found, key=lambda pair: tasks.index(pair[0]))


def _ours(size: Size, taught: Path, task: Task) -> Candidate:
    def command_of(games: int) -> Command:
        if task.depth:
            return [*_our_command(size, taught, task.method, games), str(task.depth)]
        return _our_command(size, Path(), task.method, games)

    return Candidate(OURS, "", command_of, int)


def _our_command(size: Size, file: Path, method: str, games: int) -> list[str]:
    program = [sys.executable, "-m", "benchmarks.speed.ntuple_games"]
    return [*program, str(file), size.network, method, str(games)]


def _theirs(
    size: Size, program: str, taught: Path, task: Task, cache: tuple[str, ...]
) -> Candidate:
    def command_of(games: int) -> Command:
        command = _their_command(size, program, task.method)
        if not task.depth:
            return [*command, "-t", f"1x{games}"]
        search = ["-d", f"{task.depth}p", *cache]
        return [*command, "-i", str(taught), "-e", f"1x{games}", *search]

    return Candidate(PEER, " ".join(cache), command_of, _moves_printed)


def _their_command(size: Size, program: str, method: str) -> list[str]:
    return [program, "-n", f"{size.network}patt", "-a", ALPHAS[method], "-s", "0"]


def _moves_printed(text: str) -> int:
    """Return the moves of the first block that TDL2048+ prints, from its time and speed.

    Raises:
        RuntimeError: If it has printed none.
    """
    found = re.search(r"([\d.]+)ms ([\d.]+)ops", text)
    if not found:
        raise RuntimeError(f"TDL2048+ did not print its speed: {text.strip()[-200:]}")
    return round(float(found[1]) / 1000 * float(found[2]))


def _program(size: Size) -> str | None:
    if not size.peer:
        return None
    named = os.environ.get("TDL2048")
    if named and not os.access(named, os.X_OK):
        raise UsageError(f"TDL2048 names {named}, which is no program.")
    return named or shutil.which("tdl2048")


def _two_threads(size: Size) -> float:
    one, two = (_by_wall_clock(size, threads) for threads in (1, 2))
    return two / one


def _by_wall_clock(size: Size, threads: int) -> float:
    learner = learner_of(size.network, "TC", size.iteration_games, threads)
    speeds = [learner.learn()["moves_per_second"] for _ in range(size.threaded_iterations)]
    return statistics.median(speeds[size.threaded_iterations // 2 :])
