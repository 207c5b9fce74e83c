"""`python -m baselines solve`: solves a small sliding game, and answers queries of its boards."""

import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typing_extensions import Doc

from baselines.agents import Task
from baselines.commands.options import Env, EnvKwargs
from baselines.progress import clock
from baselines.settings import Count, Seed, check_writable
from baselines.solver.boards import check_size
from baselines.solver.questions import questions_of
from baselines.solver.solve import FILE, Solution
from baselines.solver.solve import solve as solve_game
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError


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
    game: Any = Task.of("Tiles2048-v0" if env is None else env, env_kwargs).game
    size = check_size(game)
    if goal is not None and game.rules.index_of(goal) and out is not None:
        raise UsageError("a solution for a goal is not kept: leave out --out.")
    if out is not None and out.is_file():
        raise UsageError(f"{out} is a file, and a solution is a folder: give another --out.")
    lines: Sequence[str] = ()
    if query is not None:
        content = sys.stdin.buffer.read() if str(query) == "-" else query.read_bytes()
        lines = content.decode("utf-8-sig", errors="replace").splitlines()
    if out is not None and not (out / FILE).exists():
        check_writable(next(path for path in (out, *out.absolute().parents) if path.is_dir()))
    began = clock()
    if out is not None and (out / FILE).exists():
        solution = Solution.load(out, game)
    else:
        print(size, file=sys.stderr)
        solution = solve_game(game, goal)
    seconds = clock() - began
    if out is not None and not (out / FILE).exists():
        solution.save(out)
    if query is not None:
        sys.stdout.writelines(f"{line}\n" for line in answers(solution, lines))
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


def answers(solution: Solution, lines: Sequence[str]) -> Iterator[str]:
    """Yield each line that is not blank, followed by ` = ` and its value with 9 decimals."""
    game, n_cells = solution.game, math.prod(solution.game.shape)
    form = re.compile(rf"[ab](\s+[0-9]+){{{n_cells}}}")
    asked = [line.strip() for line in lines if line.strip()]
    for number, line in enumerate(lines, 1):
        if line.strip() and not form.fullmatch(line.strip()):
            example = " ".join(["b 1 1", *"0" * (n_cells - 2)])
            expected = f"b (before a move) or a (after it) and {n_cells} tile indices: {example}"
            raise UsageError(f"line {number} is no query, {brief(line)}: expected {expected}.")
    words = np.array([line.split() for line in asked], object).reshape(-1, 1 + n_cells)
    kinds, boards = words[:, 0], words[:, 1:].astype(np.float64).reshape(-1, *game.shape)
    possible = (boards <= game.rules.largest).all(axis=(1, 2))
    if not possible.all():
        note = f"note: some tiles are beyond {game.rules.largest}, the largest index of {game.name}"
        print(f"{note}: queries hold tile indices, not faces.", file=sys.stderr)
    values = np.full(len(asked), np.nan)
    for kind, look_up in (("b", solution.state_values), ("a", solution.afterstate_values)):
        chosen = possible & (kinds == kind)
        values[chosen] = look_up(boards[chosen].astype(np.uint8))
    for line, value in zip(asked, values.tolist(), strict=True):
        yield f"{line} = {'-1' if math.isnan(value) else f'{value:.9f}'}"
