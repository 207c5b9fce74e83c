"""Solves small boards: how many boards play can reach, and what optimal play is worth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from baselines.evaluation.exact import DIGITS
from baselines.solver.solve import compile_steps, solve
from baselines.task import Task
from benchmarks.results import Plan, Row, machine
from tile_envs.sliding.game import SlidingGame


def plan(boards: Mapping[str, Sequence[tuple[int, int]]]) -> Plan:
    """Return the plan to solve games, each once."""
    tasks = (Task.of(env, {"shape": shape}) for env, shapes in boards.items() for shape in shapes)
    games: list[Any] = [task.game for task in tasks]
    return Plan([_name(game) for game in games], lambda: [_solve(game) for game in games])


def _solve(game: SlidingGame) -> Row:
    compile_steps(game)
    began = time.process_time()
    solution = solve(game)
    seconds = time.process_time() - began
    states, afterstates = solution.counts()
    return _name(game) | {
        "measure": "solution",
        "states": states,
        "afterstates": afterstates,
        "states_merged": len(solution.states),
        "afterstates_merged": len(solution.afterstates),
        "value": round(solution.start_value, DIGITS),
        "seconds": float(f"{seconds:.3g}"),
        "bytes": 16 * (len(solution.states) + len(solution.afterstates)),
        "machine": machine(),
    }


def _name(game: SlidingGame) -> Row:
    return {"game": game.name, "shape": f"{game.shape[0]}×{game.shape[1]}"}
