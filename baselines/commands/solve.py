"""`python -m baselines solve`: solves a small sliding game, and answers queries of its boards."""

import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from typing_extensions import Doc

from baselines.agents import Task
from baselines.commands.options import Env, EnvKwargs
from baselines.settings import Count, Seed
from baselines.solver.boards import check_size
from baselines.solver.questions import questions_of
from baselines.solver.solution import FILE, Solution
from baselines.solver.solve import compile_steps
from baselines.solver.solve import solve as solve_game
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding.game import SlidingGame


def solve(
    env: Env = None,
    env_kwargs: EnvKwargs = None,
    goal: int | None = None,
    query: Path | None = None,
    questions: Count | None = None,
    seed: Annotated[Seed, Doc("The seed of the questions' boards.")] = 0,
    out: Path | None = None,
) -> None:
    """Compute the value of every reachable board of a small sliding game under optimal play.

    Args:
        goal: The face of a tile, such as 256: values are then the best probabilities to reach it,
            or a larger one, instead of expected scores.
        query: A file with a query on each line, or - for standard input: b (a state, before the
            move) or a (an afterstate), and tile indices row by row, such as "b 1 1 0 0 0 0". Prints
            each query with its value, -1 if it is unreachable as that kind, and nothing else.
        questions: Print so many questions for the best move, with graded answers, each as a line
            of JSON, and nothing else.
        out: The folder of the solution; if it holds one, that is loaded. `evaluate optimal` takes
            it with --agent-kwargs '{"solution": "DIR"}'.
    """
    if query is not None and questions is not None:
        raise UsageError("give either --query or --questions, not both.")
    game = Task.of("Tiles2048-v0" if env is None else env, env_kwargs).game
    lines: Sequence[str] = ()
    if query is not None:
        content = sys.stdin.buffer.read() if str(query) == "-" else query.read_bytes()
        lines = content.decode("utf-8-sig", errors="replace").splitlines()
    solution, seconds = _solve_or_load(game, goal, out)
    if query is not None:
        print(*answers(solution, lines), sep="\n", end="\n" if lines else "")
        return
    if questions is not None:
        print(*map(json.dumps, questions_of(solution, questions, seed)), sep="\n")
        return
    states, afterstates = solution.counts()
    value = f"start value  {solution.start_value:,.9f}"
    if goal is not None:
        value = f"probability  {solution.start_value:.6f} to reach {goal:,}"
    print(f"""{solution.game}, exactly
  states       {states:,} ({len(solution.states):,} up to symmetry)
  afterstates  {afterstates:,} ({len(solution.afterstates):,} up to symmetry)
  {value}
  seconds      {seconds:.2f}""")


def _solve_or_load(game: Game, goal: int | None, folder: Path | None) -> tuple[Solution, float]:
    """Load a solution, or solve the game; return its seconds, without compilation, as well."""
    if not isinstance(game, SlidingGame):
        raise UsageError(f"the sliding games are solved, not {game}: see the agent minimax.")
    if goal is not None and game.rules.index_of(goal) and folder is not None:
        raise UsageError("a solution for a goal is not kept: leave out --out.")
    if folder is not None and folder.is_file():
        raise UsageError(f"{folder} is a file, and a solution is a folder: give another --out.")
    began = time.perf_counter()
    if folder is not None and (folder / FILE).exists():
        return Solution.load(folder, game), time.perf_counter() - began
    print(check_size(game), file=sys.stderr)
    compile_steps(game)
    began = time.perf_counter()
    solution = solve_game(game, goal)
    seconds = time.perf_counter() - began
    if folder is not None:
        solution.save(folder)
    return solution, seconds


def answers(solution: Solution, lines: Sequence[str]) -> Iterator[str]:
    """Yield each line that is not blank, followed by ` = ` and its value with 9 decimals."""
    game, rules = solution.game, solution.game.rules
    asked = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    queries = [_query(line, number, game.shape) for number, line in asked]
    kinds = np.array([kind for kind, _ in queries])
    boards = np.array([cells for _, cells in queries], np.int64).reshape(-1, *game.shape)
    possible = (boards <= rules.largest).all(axis=(1, 2))
    if not possible.all():
        note = f"note: some tiles are beyond {rules.largest}, the largest index of {game.name}"
        print(f"{note}: queries hold tile indices, not faces.", file=sys.stderr)
    values = np.full(len(asked), np.nan)
    for kind, look_up in (("b", solution.state_values), ("a", solution.afterstate_values)):
        chosen = possible & (kinds == kind)
        values[chosen] = look_up(boards[chosen].astype(np.uint8))
    for (_, line), value in zip(asked, values.tolist(), strict=True):
        yield f"{line} = {'-1' if math.isnan(value) else f'{value:.9f}'}"


def _query(line: str, number: int, shape: tuple[int, int]) -> tuple[str, list[int]]:
    kind, *cells = line.split()
    expected = math.prod(shape)
    are_tiles = all(cell.isascii() and cell.isdecimal() for cell in cells)
    if kind not in ("b", "a") or len(cells) != expected or not are_tiles:
        raise UsageError(
            f"line {number} is no query, {brief(line)}: expected b (before a move) or a (after it) "
            f"and {expected} tile indices, such as b {' '.join(['1', '1', *'0' * (expected - 2)])}."
        )
    # No game has tiles of three digits, and int() refuses thousands of them.
    return kind, [int(cell.lstrip("0")[:3] or "0") for cell in cells]
