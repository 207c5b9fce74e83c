"""`python -m baselines solve`."""

from __future__ import annotations

from pathlib import Path

from baselines.commands.options import Env, EnvKwargs, given
from baselines.solver.queries import answers, description, read_lines
from baselines.solver.solve import solve_or_load
from baselines.task import Task
from tile_envs.errors import UsageError


def solve(
    env: Env = None,
    shape: tuple[int, int] | None = None,
    env_kwargs: EnvKwargs = None,
    query: Path | None = None,
    out: Path | None = None,
) -> None:
    """Compute the value of every reachable board of a small sliding game under optimal play.

    Args:
        shape: Rows and columns of the board.
        query: A file with a query on each line, or - for standard input: b (a state, before the
            move) or a (an afterstate), and tile indices row by row, such as "b 1 1 0 0 0 0". Prints
            each query with its value, -1 if it is unreachable, and nothing else.
        out: The folder of the solution; if it holds one, that is loaded. `evaluate optimal` takes
            it with --agent-kwargs '{"solution": "DIR"}'.
    """
    if shape is not None and "shape" in (env_kwargs or {}):
        raise UsageError("give the shape once: by --shape, or in --env-kwargs.")
    options = {**(env_kwargs or {}), **given(shape=shape)}
    lines = None if query is None else read_lines(query)
    solution, seconds = solve_or_load(Task.of(env or "Tiles2048-v0", options).game, out)
    if lines is None:
        print(description(solution, seconds))
    else:
        for answer in answers(solution, lines):
            print(answer)
