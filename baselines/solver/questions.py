"""Best-move questions with graded answers, for people, language models and networks.

Boards are drawn from all that play can reach, turned at random, if their moves differ in value.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from baselines.agents import Task
from baselines.seeds import seed_sequence
from baselines.solver.solve import Solution, solution_of
from tile_envs.base.checks import checked_count, checked_seed
from tile_envs.errors import UsageError
from tile_envs.games import AnyEnv, named
from tile_envs.sliding.rules import ACTIONS

TIED, DIGITS = 1e-9, 9
"""Values that differ by less, as a part of the best one, count as equal; decimals that are told."""
AT_ONCE = 1 << 14  # boards that are looked up


def questions(
    env: AnyEnv = "Tiles2048-v0",
    n: int = 100,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    goal: int | None = None,
) -> list[dict[str, Any]]:
    """Return questions for the best move on a small board of a sliding game.

        for question in questions("Tiles2048-v0", 100, env_kwargs={"shape": (2, 3)}):
            grade = question["grades"].get(answer, 0.0)

    Args:
        env: The environment or its id.
        n: The number of questions; no two have the same board, or one that is symmetric to it.
        seed: The seed of the boards.
        env_kwargs: The environment's options.
        goal: The face of a tile: values are probabilities to reach it (see `baselines.solve`).

    Returns:
        For each question `board`, rows of faces; `values`, by legal move the expected score if play
        goes on optimally; `best`, the moves with the highest one; `grades`, by legal move 1 for
        these, 0 for the worst, and in between as the values are.
    """
    return questions_of(solution_of(Task.of(*named(env, env_kwargs)).game, goal), n, seed)


def questions_of(solution: Solution, n: int, seed: int) -> list[dict[str, Any]]:
    checked_count(n, "n")
    rng = np.random.default_rng(seed_sequence(checked_seed(seed), "questions"))
    game, found = solution.game, list[dict[str, Any]]()
    known, images = solution.states.boards(game.shape), game.symmetries.cells
    order, faces = rng.permutation(len(known)), np.array(game.rules.faces)
    for first in range(0, len(order), AT_ONCE):
        drawn = known[order[first : first + AT_ONCE]]
        turned = images[rng.integers(len(images), size=len(drawn))]
        boards = np.take_along_axis(drawn.reshape(len(drawn), -1), turned, axis=1)
        boards = boards.reshape(drawn.shape)
        for board, row in zip(boards, solution.action_values(boards).tolist(), strict=True):
            values = {name: v for name, v in zip(ACTIONS, row, strict=True) if v > -np.inf}
            best, worst = max(values.values(), default=0.0), min(values.values(), default=0.0)
            if best - worst <= (close := TIED * best):
                continue
            grades = {name: (v - worst) / (best - worst) for name, v in values.items()}
            question = {
                "board": faces[board].tolist(),
                "values": {name: round(v, DIGITS) for name, v in values.items()},
                "best": [name for name, v in values.items() if best - v <= close],
                "grades": {name: round(grade, DIGITS) for name, grade in grades.items()},
            }
            found.append(question)
            if len(found) == n:
                return found
    raise UsageError(f"there are {len(found):,} questions on {game}, got n={n}.")
