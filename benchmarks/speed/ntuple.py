"""Measures n-tuple networks: training, greedy play and search, beside TDL2048+ if it is there.

benchmarks/README.md says how.  Both programs run in processes of their own; ours is

    python -m benchmarks.speed.ntuple FILE NETWORK METHOD GAMES DEPTH

With depth 0 it learns, and saves the network if FILE is given; otherwise it loads the network and
plays, with depth 1 without search.  It prints the number of moves.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from baselines.arrays import read_arrays, write_arrays
from baselines.evaluation.sampled import play
from baselines.ntuple.ntuple import NTuple
from baselines.search.expectimax import Expectimax
from baselines.seeds import game_seeds
from baselines.task import Task
from benchmarks.results import Row
from benchmarks.rows import group
from benchmarks.speed.turns import OURS, TDL2048, now, statistics_of
from tile_envs.errors import UsageError

ENV = "Tiles2048-v0"
FORWARD = {"direction": "forward", "trace_decay": 0.0, "restart": 0.0}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "TD(0)": FORWARD | {"method": "td", "learning_rate": 0.1},
    "TC": FORWARD | {"method": "tc", "learning_rate": 1.0},
}
"""The methods of the measures: those that TDL2048+ has under these names."""
CACHES = ((), ("-c", "64M"))
"""The transposition tables that TDL2048+ is measured with; its larger ones are slower."""
THREADS = "two threads against one, TC"
ROOT = Path(__file__).parents[2]

Command = list[str]


class Work(NamedTuple):
    """What is measured, by the numbers of games of a short list and of a long one.

    With depth 0 the method is learned; otherwise a network that has learned by it plays.
    """

    name: str
    method: str
    short: int
    long: int
    depth: int = 0


WORKS = (
    Work("TD(0) training", "TD(0)", 2_000, 14_000),
    Work("TC training", "TC", 1_000, 6_000),
    Work("greedy play", "TD(0)", 1_000, 8_000, depth=1),
    Work("search, 2-ply", "TD(0)", 20, 140, depth=2),
    Work("search, 3-ply", "TD(0)", 2, 8, depth=3),
)


class Program(NamedTuple):
    """A program with its options.

    Attributes:
        package: Whose it is.
        options: What it is given beside the work, for people to read.
        command: Returns its command, from a network's file, a method, games and a depth.
        moves: Returns the number of moves in what it prints.
    """

    package: str
    options: str
    command: Callable[[str, str, int, int], Command]
    moves: Callable[[str], int]


def measure(
    turns: int,
    network: str = "4x6",
    works: Sequence[Work] = WORKS,
    taught: int = 20_000,
    iteration_games: int = 500,
    iterations: int = 40,
) -> list[Row]:
    """Measure so many turns, ours and the peer's in alternation.

    The networks that play have learned from `taught` games; the iterations are by two threads.
    """
    programs, began = _programs(network), now()
    values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            if not program.options:
                for method in {work.method for work in works if work.depth}:
                    run(program.command(_file(folder, program, method), method, taught, 0))
        pairs = [
            (work, program, partial(_command, work, program, folder))
            for work in works
            for program in programs
            if work.depth > 1 or not program.options
        ]
        for work, _, command in pairs:  # compiled loops are on disk from now on
            run(command(work.short))
        for _ in range(turns):
            for work, program, command in pairs:
                speed = moves_per_second(command, program.moves, work.short, work.long)
                name = f"{network} {work.name}"
                values[name, program.package, program.options].append(speed)
            one, two = (_by_wall_clock(network, iteration_games, iterations, n) for n in (1, 2))
            values[THREADS, OURS, ""].append(two / one)
    rows = [
        {"measure": name, "package": package, "options": options, "run": began}
        | statistics_of(speeds)
        for (name, package, options), speeds in values.items()
    ]
    groups = group(rows, "measure", "package")
    return [max(of_package, key=lambda row: float(row["value"])) for of_package in groups]


def _file(folder: str, program: Program, method: str) -> str:
    return f"{folder}/{program.package} {method}.w"


def _command(work: Work, program: Program, folder: str, games: int) -> Command:
    file = _file(folder, program, work.method) if work.depth else ""
    return program.command(file, work.method, games, work.depth)


def _programs(network: str) -> list[Program]:
    programs = [Program(OURS, "", partial(_our_command, network), int)]
    path = os.environ.get("TDL2048") or shutil.which("tdl2048")
    if path and not os.access(path, os.X_OK):
        raise UsageError(f"TDL2048 names {path}, which is no program.")
    for cache in CACHES if path else ():
        command = partial(_their_command, path, network, cache)
        programs.append(Program(TDL2048, " ".join(cache), command, _their_moves))
    return programs


def _our_command(network: str, file: str, method: str, games: int, depth: int) -> Command:
    program = [sys.executable, "-m", "benchmarks.speed.ntuple"]
    return [*program, file, network, method, str(games), str(depth)]


def _their_command(
    path: str, network: str, cache: Sequence[str], file: str, method: str, games: int, depth: int
) -> Command:
    rate = str(METHODS[method]["learning_rate"])
    command = [path, "-n", f"{network}patt", "-a", rate, "-s", "0"]
    if depth:
        return [*command, "-i", file, "-e", f"1x{games}", "-d", f"{depth}p", *cache]
    return [*command, "-t", f"1x{games}", *(["-o", file] if file else [])]


def _their_moves(text: str) -> int:
    """Return the moves of the first block that TDL2048+ prints, from its time and speed."""
    printed = re.search(r"([\d.]+)ms ([\d.]+)ops", text)
    if not printed:
        raise RuntimeError(f"TDL2048+ did not print its speed: {text.strip()[-200:]}")
    return round(float(printed[1]) / 1000 * float(printed[2]))


def moves_per_second(
    command: Callable[[int], Command], moves: Callable[[str], int], short: int, long: int
) -> float:
    """Return the moves per second of CPU time, all threads and kernel time included.

    `command` returns what plays a list of so many games, and `moves` the moves in what it printed.
    """
    (before, short_time), (after, long_time) = (run(command(games)) for games in (short, long))
    played, seconds = moves(after) - moves(before), long_time - short_time
    if played <= 0 or seconds <= 0:
        raise RuntimeError(f"{command(long)[0]}: {played:,} more moves took {seconds:.2f} s more.")
    return played / seconds


def run(command: Command) -> tuple[str, float]:
    """Run a program; return what it printed, and the CPU time of its process in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _learner(network: str, method: str, iteration_games: int = 500, threads: int = 1) -> NTuple:
    shape = {"network": network, "iteration_games": iteration_games, "threads": threads}
    settings = NTuple.Settings(**{**shape, **METHODS[method]})
    return NTuple(Task.of(ENV).game, seed=0, settings=settings)


def _by_wall_clock(network: str, iteration_games: int, iterations: int, threads: int) -> float:
    """Return moves per second; virtual machines get a second core after a while: half counts."""
    learner = _learner(network, "TC", iteration_games, threads)
    speeds = [learner.learn()["moves_per_second"] for _ in range(iterations)]
    return statistics.median(speeds[iterations // 2 :])


def _play(file: str, network: str, method: str, games: int, depth: int) -> int:
    learner = _learner(network, method, min(games, 500))
    if depth == 0:
        while learner.games < games:
            learner.learn()
        if file:
            write_arrays(Path(file), learner.state_dict())
        return learner.moves
    learner.load_state_dict(read_arrays(Path(file), sys.maxsize))
    if depth == 1:
        return int(learner.play_greedily(game_seeds(0, games))[2])
    return play(Expectimax(learner, learner.game, depth, threads=1), ENV, episodes=games).moves


if __name__ == "__main__":
    file, network, method, *numbers = sys.argv[1:]
    print(_play(file, network, method, *map(int, numbers)))
