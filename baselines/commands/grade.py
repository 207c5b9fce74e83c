"""`python -m baselines grade`."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from baselines.commands import options
from baselines.evaluation.judging import ENV, SECONDS_IN_ALL, Grades
from baselines.evaluation.judging import grade as grade_all
from baselines.evaluation.rows import SUFFIXES, write_rows
from baselines.settings import Count, Positive, Seed, check_file
from tile_envs.errors import UsageError


def grade(
    submissions: Annotated[Positional[Path], arg(metavar="FOLDER")],
    /,
    env: str = ENV,
    exact: bool = False,
    episodes: Count = 1000,
    seed: options.GamesSeed = 0,
    env_kwargs: options.EnvKwargs = None,
    seconds: Positive = SECONDS_IN_ALL,
    agent_seed: Seed | None = None,
    out: options.Rows = None,
) -> None:
    """Grade the agents that students hand in, and print one table, the best first.

    A submission is a file *.py in the folder, or a folder in it, with one class, made as
    Class(game, seed), that has predict(boards, action_masks), afterstate_values(boards) to be
    played greedily, or, with --exact, action_probabilities(boards); or with a function
    strategy(board). It runs in a confined process of its own. One that fails has no grade, and its
    line says why.
    The exit status is 0 if one has a grade, else 2.

    Args:
        submissions: The folder of the submissions.
        env: The environment's id; my_module:Id imports the module that registers it.
        exact: Compute the results exactly, over all reachable boards, instead of playing games: on
            small boards of the sliding games the share of the optimal expected score; in
            tic-tac-toe the fractions of results.
        episodes: The number of games.
        seconds: The wall-clock time of a submission in all, its loading included; a busy machine
            needs more.
        agent_seed: The seed that classes are made with. If not given, the system draws one, so that
            it tells nothing of the games; the table has it.
    """
    if out:
        check_file(out, SUFFIXES, "--out is")
    rows = Grades()

    def keep(graded: Grades) -> None:
        rows[:] = graded
        if out is not None:
            with suppress(OSError):  # with a full disk, say, the others are graded still
                write_rows(rows, out)

    given: dict[str, Any] = {"exact": exact, "agent_seed": agent_seed, "keep": keep}
    try:
        grade_all(submissions, env, env_kwargs, episodes, seed, seconds, **given)
    finally:
        if rows:
            print(rows)
            if out is not None:
                write_rows(rows, out)
    if all(row["error"] for row in rows):
        raise UsageError(f"{submissions} holds no submission that can be graded.")
