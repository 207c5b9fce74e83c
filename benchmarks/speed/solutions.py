"""Solves small boards: how many boards play can reach, and what optimal play is worth."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baselines.agents import Task
from baselines.evaluation.exact import DIGITS
from baselines.solver.solve import solve
from benchmarks.results import Row


def measure(boards: Mapping[str, Sequence[tuple[int, int]]]) -> list[Row]:
    tasks = (Task.of(env, {"shape": shape}) for env, shapes in boards.items() for shape in shapes)
    return [_solve(task.game) for task in tasks]


def _solve(game: Any) -> Row:
    solve(replace(game, shape=(2, 2)))  # compile
    began, solution = time.process_time(), solve(game)
    seconds = time.process_time() - began
    states, afterstates = solution.counts()
    return {
        "game": game.name,
        "shape": f"{game.shape[0]}×{game.shape[1]}",
        "measure": "solution",
        "states": states,
        "afterstates": afterstates,
        "states_merged": len(solution.states),
        "afterstates_merged": len(solution.afterstates),
        "value": round(solution.start_value, DIGITS),
        "cpu_seconds": float(f"{seconds:.3g}"),
        "bytes": 16 * (len(solution.states) + len(solution.afterstates)),
    }
