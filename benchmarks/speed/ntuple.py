"""Measures n-tuple networks: training, greedy play and search, beside TDL2048+ if it is there.

Speeds are moves per second of process CPU time on one core.  Two threads are measured by wall
clock, as a multiple of one.  TDL2048+ is at github.com/moporgic/TDL2048; its program `2048`, built
with `make native`, is named by the environment variable TDL2048, or stands on the PATH as
`tdl2048`.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

import tile_envs  # noqa: F401
from baselines.episodes import collect
from baselines.ntuple.ntuple import NTuple
from baselines.search.expectimax import Expectimax
from baselines.task import Task
from benchmarks.speed.turns import Row, machine

OURS, PEER = "tile-envs", "TDL2048+"
ENV = "Tiles2048-v0"
FORWARD = {"direction": "forward", "trace_decay": 0.0, "restart": False}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "TD(0)": FORWARD | {"method": "td", "learning_rate": 0.1},
    "TC": FORWARD | {"method": "tc", "learning_rate": 1.0},
}


@dataclass(frozen=True)
class Size:
    """How much is trained and played in a turn.

    Attributes:
        network: The network's tuples.
        iteration_games: Games of an iteration.
        iterations: Iterations before anything is measured.
        greedy_games: Games that are played greedily.
        searched: By search depth, the number of games whose boards are searched.
        threaded_iterations: Iterations by two threads.  The first half does not count, since
            virtual machines get a second core only when it is in demand.
        peer: Whether TDL2048+ is measured.
    """

    network: str = "4x6"
    iteration_games: int = 500
    iterations: int = 10
    greedy_games: int = 1000
    searched: Mapping[int, int] = field(default_factory=lambda: {2: 10, 3: 1})
    threaded_iterations: int = 40
    peer: bool = True


def keys(turns: int, **options: Any) -> list[Row]:
    """Return the columns that name each row that can be made on this machine."""
    size = Size(**options)
    names = [f"{size.network} {method} training" for method in METHODS]
    names.append(f"{size.network} greedy play")
    names += [_search_name(size, depth) for depth in size.searched]
    ours = [{"measure": name, "package": OURS} for name in [*names, _threads_name()]]
    theirs = [{"measure": name, "package": PEER} for name in names if _program(size)]
    return ours + theirs


def rows(turns: int, **options: Any) -> list[Row]:
    """Measure so many turns, ours and the peer's in alternation.

    Args:
        turns: The number of turns.
        **options: Those of `Size`.
    """
    size = Size(**options)
    program = _program(size)
    speeds: dict[tuple[str, str], list[float]] = {}
    for _ in range(turns):
        measured = {OURS: _ours(size)} | ({PEER: _theirs(size, program)} if program else {})
        for package, found in measured.items():
            for name, speed in found.items():
                speeds.setdefault((name, package), []).append(speed)
    return [
        {
            "measure": name,
            "package": package,
            "value": statistics.median(values),
            "low": min(values),
            "high": max(values),
            "machine": machine(),
        }
        for (name, package), values in speeds.items()
    ]


def _ours(size: Size) -> dict[str, float]:
    speeds = {}
    for method, settings in METHODS.items():
        learner = _learner(size, settings)
        speeds[f"{size.network} {method} training"] = _per_second(_moves_of_iteration, learner)
    learner = _learner(size, METHODS["TD(0)"])
    seeds = np.arange(size.greedy_games, dtype=np.uint64)
    speeds[f"{size.network} greedy play"] = _per_second(_moves_of_games, learner, seeds)
    for depth, games in size.searched.items():
        agent = Expectimax(learner, Task.of(ENV).game, depth)
        boards = _boards(learner, games)
        agent.predict(boards[:1])
        speeds[_search_name(size, depth)] = _per_second(_moves_chosen, agent, boards)
    one, two = (_learner(size, {**METHODS["TC"], "threads": n}) for n in (1, 2))
    speeds[_threads_name()] = _by_wall_clock(size, two) / _by_wall_clock(size, one)
    return speeds


def _theirs(size: Size, program: str) -> dict[str, float]:
    speeds = {}
    for method, alpha in (("TD(0)", "0.1"), ("TC", "1.0")):
        command = [
            program,
            "-n",
            f"{size.network}patt",
            "-a",
            alpha,
            "-t",
            "5x1000",
            "-e",
            "1x1000",
        ]
        for depth, games in size.searched.items():
            command += ["-e", f"1x{games}", f"search={depth}p"]
        done = subprocess.run(command, capture_output=True, text=True)
        found = re.findall(r"([\d.]+)ops", done.stdout)
        if done.returncode or len(found) < 8 + 2 * (len(size.searched) - 1):
            raise RuntimeError(f"{program} did not print its speeds: {done.stderr.strip()[-200:]}")
        # The last thousand games of training; each evaluation is printed twice, with its summary.
        speeds[f"{size.network} {method} training"] = float(found[4])
        if method == "TD(0)":
            speeds[f"{size.network} greedy play"] = float(found[5])
            for printed, depth in enumerate(size.searched):
                speeds[_search_name(size, depth)] = float(found[7 + 2 * printed])
    return speeds


def _program(size: Size) -> str | None:
    if not size.peer:
        return None
    named = os.environ.get("TDL2048")
    if named and not os.access(named, os.X_OK):
        raise ValueError(f"TDL2048 names {named}, which is no program.")
    return named or shutil.which("tdl2048")


def _search_name(size: Size, depth: int) -> str:
    return f"{size.network} search, {depth}-ply"


def _threads_name() -> str:
    return "two threads against one, TC"


def _learner(size: Size, settings: Mapping[str, Any]) -> NTuple:
    shape = {"network": size.network, "iteration_games": size.iteration_games}
    learner = NTuple(Task.of(ENV).game, seed=0, settings=NTuple.Settings(**{**shape, **settings}))
    for _ in range(size.iterations):
        learner.learn()
    return learner


def _per_second(play: Callable[..., int], *arguments: Any) -> float:
    began = time.process_time()
    moves = play(*arguments)
    return moves / (time.process_time() - began)


def _moves_of_iteration(learner: NTuple) -> int:
    before = learner.moves
    learner.learn()
    return learner.moves - before


def _moves_of_games(learner: NTuple, seeds: np.ndarray[Any, Any]) -> int:
    return learner.play_greedily(seeds)[2]


def _moves_chosen(agent: Expectimax, boards: np.ndarray[Any, Any]) -> int:
    return len(agent.predict(boards)[0])


def _by_wall_clock(size: Size, learner: NTuple) -> float:
    speeds = [learner.learn()["moves_per_second"] for _ in range(size.threaded_iterations)]
    return statistics.median(speeds[size.threaded_iterations // 2 :])


def _boards(learner: NTuple, games: int) -> np.ndarray[Any, Any]:
    """Return the boards of greedily played games, one game after the other."""
    envs = gym.make_vec(ENV, games)
    seeds = np.arange(games, dtype=np.uint64)
    played = collect(envs, seeds, lambda boards, _: learner.predict(boards)[0])
    return played.observations.swapaxes(0, 1)[played.playing.T]
