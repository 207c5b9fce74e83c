"""Measures n-tuple networks beside TDL2048+, if it is there; pages/speed.md says how."""

import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from baselines.agents import Task
from baselines.evaluation.sampled import play
from baselines.ntuple.ntuple import NTuple
from baselines.search.expectimax import Expectimax
from baselines.seeds import game_seeds
from benchmarks.results import Row
from benchmarks.rows import group
from benchmarks.speed.turns import OURS, TDL2048, now, statistics_of
from tile_envs.errors import UsageError

ENV, NETWORK = "Tiles2048-v0", "4x6"
TAUGHT = 20_000  # games from which the networks that play have learned
FORWARD = {"direction": "forward", "trace_decay": 0.0, "restart": 0.0}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "TD(0)": FORWARD | {"method": "td", "learning_rate": 0.1},
    "TC": FORWARD | {"method": "tc", "learning_rate": 1.0},
}
"""Methods that TDL2048+ has, too, under these names."""
CACHES = ((), ("-c", "64M"))
"""The transposition tables that TDL2048+ is measured with; its larger ones are slower."""


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

Program = Callable[[Work, int], tuple[int, float]]
"""Does a work with so many games; returns the moves and the CPU time in seconds."""


def measure(turns: int) -> list[Row]:
    """Measure in alternation moves per second of CPU time, all threads and kernel time included.

    It is that of the games that a long list has more than a short one.
    """
    began = now()
    with tempfile.TemporaryDirectory() as folder:
        programs = {(OURS, ""): _ours()} | _theirs(folder)
        pairs: list[tuple[Work, str, str, Program, list[float]]] = [
            (work, *names, program, [])
            for work in WORKS
            for names, program in programs.items()
            if work.depth > 1 or not names[1]
        ]
        for work, *_, program, _ in pairs:  # compiled loops are in memory from now on
            program(work, work.short)
        for _ in range(turns):
            for work, *_, program, speeds in pairs:
                (before, start), (after, end) = (program(work, n) for n in (work.short, work.long))
                speeds.append((after - before) / (end - start))
    rows = [
        {"measure": f"{NETWORK} {work.name}", "package": package, "options": options, "run": began}
        | statistics_of(speeds)
        for work, package, options, _, speeds in pairs
    ]
    groups = group(rows, "measure", "package")
    return [max(of_package, key=lambda row: float(row["value"])) for of_package in groups]


def _ours() -> Program:
    @cache
    def learned(method: str) -> NTuple:
        return _learn(_learner(method), TAUGHT)

    def program(work: Work, games: int) -> tuple[int, float]:
        method, depth = work.method, work.depth
        learner = learned(method) if depth else _learner(method, min(games, 500))
        began = time.process_time()
        if depth == 0:
            moves = _learn(learner, games).moves
        elif depth == 1:
            moves = int(learner.play_greedily(game_seeds(0, games))[2])
        else:
            search = Expectimax(learner, learner.game, depth, threads=1)
            moves = play(search, ENV, episodes=games).moves
        return moves, time.process_time() - began

    return program


def _learn(learner: NTuple, games: int) -> NTuple:
    while learner.games < games:
        learner.learn()
    return learner


def _theirs(folder: str) -> dict[tuple[str, str], Program]:
    """Return TDL2048+ with each of its transposition tables, by name and options."""
    path = os.environ.get("TDL2048") or shutil.which("tdl2048")
    if not path:
        return {}
    if not os.access(path, os.X_OK):
        raise UsageError(f"TDL2048 names {path}, which is no program.")

    def run(method: str, *options: str) -> tuple[int, float]:
        rate = str(METHODS[method]["learning_rate"])
        command = [path, "-n", f"{NETWORK}patt", "-a", rate, "-s", "0", *options]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = re.search(r"([\d.]+)ms ([\d.]+)ops", printed)
        if not told:
            raise RuntimeError(f"TDL2048+ did not print its speed: {printed.strip()[-200:]}")
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return round(float(told[1]) / 1000 * float(told[2])), seconds

    @cache
    def learned(method: str) -> str:
        file = f"{folder}/{method}.w"
        run(method, "-t", f"1x{TAUGHT}", "-o", file)
        return file

    def program(table: Sequence[str], work: Work, games: int) -> tuple[int, float]:
        if not work.depth:
            return run(work.method, "-t", f"1x{games}")
        options = "-i", learned(work.method), "-e", f"1x{games}", "-d", f"{work.depth}p", *table
        return run(work.method, *options)

    return {(TDL2048, " ".join(table)): partial(program, table) for table in CACHES}


def _learner(method: str, iteration_games: int = 500) -> NTuple:
    settings = NTuple.Settings(network=NETWORK, iteration_games=iteration_games, **METHODS[method])
    return NTuple(Task.of(ENV).game, seed=0, settings=settings)
