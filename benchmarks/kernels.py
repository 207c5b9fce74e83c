"""Measures how fast n-tuple networks learn, play and search, beside TDL2048+ if it is there.

    python -m benchmarks.kernels --out benchmarks/results/kernels.csv [--tdl PATH]

Moves per second of process CPU time on one core, the median of several turns that alternate with
the peer's; for two threads, how much faster they are by the clock on the wall.  TDL2048+ is at
github.com/moporgic/TDL2048; PATH is its program `2048`, built with `make native`.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import tile_envs  # noqa: F401
from baselines.episodes import collect
from baselines.ntuple.learning import NTuple, NTupleSettings
from baselines.search.expectimax import Expectimax
from baselines.tables import checked_path, write_rows
from benchmarks.speed import machine

ENV = gym.make("Tiles2048-v0")
FORWARD = {"network": "4x6", "direction": "forward", "trace": 0.0, "restart": False}
TD = FORWARD | {"method": "td", "learning_rate": 0.1}
TC = FORWARD | {"method": "tc", "learning_rate": 1.0}
ROUNDS = 10  # of 500 games before anything is measured
SEARCHED = {2: 10, 3: 1}
"""By depth, how many games' boards are searched."""
THREADED_ROUNDS = 40
"""The first half does not count: virtual machines get a second core only when it is in demand."""


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("--out", type=Path, help="write the rows to this file")
    parser.add_argument("--turns", type=int, default=5, help="turns of each measurement")
    parser.add_argument("--tdl", type=Path, help="the program of TDL2048+")
    asked = parser.parse_args()
    if asked.out:
        checked_path(asked.out)
    speeds: dict[tuple[str, str], list[float]] = {}
    for _ in range(asked.turns):
        measured = {"tile-envs": ours()} | ({"TDL2048+": theirs(asked.tdl)} if asked.tdl else {})
        for package, found in measured.items():
            for what, speed in found.items():
                speeds.setdefault((what, package), []).append(speed)
    rows = []
    for (what, package), turns in sorted(speeds.items()):
        row = {"measure": what, "package": package, "value": statistics.median(turns)}
        rows.append(row | {"low": min(turns), "high": max(turns), "machine": machine()})
        print(f"{what:<34}{package:<12}{row['value']:>14,.4g}")
    if asked.out:
        write_rows(rows, asked.out)


def ours() -> dict[str, float]:
    """Measure ours once."""
    speeds = {}
    for name, settings in (("TD(0)", TD), ("TC", TC)):
        learner = _learner(settings)
        speeds[f"4x6 {name} training"] = _per_second(_moves_of_a_round, learner)
    learner = _learner(TD)
    speeds["4x6 greedy play"] = _per_second(_moves_of_games, learner)
    for depth, games in SEARCHED.items():
        agent = Expectimax(learner, ENV, depth)
        boards = _boards(learner, games)
        agent.predict(boards[:1])
        speeds[f"4x6 search, {depth}-ply"] = _per_second(_moves_chosen, agent, boards)
    one, two = (_learner(TC | {"threads": n}) for n in (1, 2))
    speeds["two threads against one, TC"] = _by_the_clock(two) / _by_the_clock(one)
    return speeds


def theirs(program: Path) -> dict[str, float]:
    """Measure TDL2048+ once."""
    speeds = {}
    for name, alpha in (("TD(0)", "0.1"), ("TC", "1.0")):
        command = [program, "-n", "4x6patt", "-a", alpha, "-t", "5x1000", "-e", "1x1000"]
        for depth, games in SEARCHED.items():
            command += ["-e", f"1x{games}", f"search={depth}p"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = re.findall(r"([\d.]+)ops", done.stdout)
        # The last thousand games of training; each evaluation is told twice, with its summary.
        speeds[f"4x6 {name} training"] = float(found[4])
        if name == "TD(0)":
            speeds["4x6 greedy play"] = float(found[5])
            for told, depth in enumerate(SEARCHED):
                speeds[f"4x6 search, {depth}-ply"] = float(found[7 + 2 * told])
    return speeds


def _learner(settings: dict[str, Any]) -> NTuple:
    learner = NTuple(ENV, (), NTupleSettings(**({"batch": 500} | settings)), seed=0)
    for _ in range(ROUNDS):
        learner.learn()
    return learner


def _per_second(play: Callable[..., int], *arguments: Any) -> float:
    began = time.process_time()
    moves = play(*arguments)
    return moves / (time.process_time() - began)


def _moves_of_a_round(learner: NTuple) -> int:
    before = learner.moves
    learner.learn()
    return learner.moves - before


def _moves_of_games(learner: NTuple) -> int:
    return learner.play_greedily(np.arange(1000, dtype=np.uint64))[2]


def _moves_chosen(agent: Expectimax, boards: np.ndarray[Any, Any]) -> int:
    return len(agent.predict(boards)[0])


def _by_the_clock(learner: NTuple) -> float:
    speeds = [learner.learn()["moves_per_second"] for _ in range(THREADED_ROUNDS)]
    return statistics.median(speeds[THREADED_ROUNDS // 2 :])


def _boards(learner: NTuple, games: int) -> np.ndarray[Any, Any]:
    """Return the boards of games that are played greedily, one game after the other."""
    envs = gym.make_vec("Tiles2048-v0", games)
    seeds = np.arange(games, dtype=np.uint64)
    played = collect(envs, seeds, lambda boards, _: learner.predict(boards)[0])
    return played.observations.swapaxes(0, 1)[played.playing.T]


if __name__ == "__main__":
    main()
