"""Solves small boards: how many boards play can reach, and what optimal play is worth."""

from __future__ import annotations

import time
from collections.abc import Sequence

from baselines.evaluation.exact import DIGITS
from baselines.solver.solve import compile_steps, solve
from baselines.task import Task
from benchmarks.results import Row, machine
from tile_envs.sliding.game import SlidingGame

Board = tuple[str, tuple[int, int]]

MEASURE = "solution"


def keys(boards: Sequence[Board]) -> list[Row]:
    """Return the columns that name each row.

    Args:
        boards: Environments, each with the shape of its board.
    """
    return [_name(game) for game in map(_game, boards)]


def rows(boards: Sequence[Board]) -> list[Row]:
    """Solve games, each once.

    Returns:
        A row for each: the numbers of states and afterstates, symmetric ones counted singly and
        merged; the expected score of optimal play; the CPU seconds; and the bytes of the solution.
    """
    made = []
    for game in map(_game, boards):
        compile_steps(game)
        began = time.process_time()
        solution = solve(game)
        seconds = time.process_time() - began
        states, afterstates = solution.counts()
        made.append(
            _name(game)
            | {
                "measure": MEASURE,
                "states": states,
                "afterstates": afterstates,
                "states_merged": len(solution.states),
                "afterstates_merged": len(solution.afterstates),
                "value": round(solution.start_value, DIGITS),
                "seconds": float(f"{seconds:.3g}"),
                "bytes": 16 * (len(solution.states) + len(solution.afterstates)),
                "machine": machine(),
            }
        )
    return made


def _game(board: Board) -> SlidingGame:
    env, shape = board
    game = Task.of(env, {"shape": shape}).game
    assert isinstance(game, SlidingGame)
    return game


def _name(game: SlidingGame) -> Row:
    return {"game": game.name, "shape": f"{game.shape[0]}×{game.shape[1]}"}
