"""Exact evaluation: the expected result of an agent, computed over all boards instead of sampled.

On small boards of the sliding games it is a benchmark for learners, TilesExact: the fraction of
optimal expected score that an agent reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from baselines.evaluation import exact_tictactoe as tictactoe
from baselines.evaluation.exact_sliding import expected
from baselines.evaluation.rows import Row
from baselines.solver.solve import solution_of
from baselines.task import Task
from tile_envs.agents import Agent
from tile_envs.sliding.game import SlidingGame

DIGITS = 9
"""Decimals of results: further ones depend on the order of additions, and so on the machine."""


def evaluate_exactly(
    agent: Agent,
    env: str,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
) -> Row:
    """Evaluate an agent whose play depends on the board alone, and return one row of results.

        row = evaluate_exactly(agent, "Tiles2584-v0", {"shape": (2, 3)})
        row["share"]  # of the expected score of optimal play

    Args:
        agent: One with `action_probabilities(observations) -> (n, actions)`, or else with a
            `predict` that is a function of the board.
        env: The id of an environment of this package.
        env_kwargs: The environment's options: in the sliding games those of a board that can be
            solved; in tic-tac-toe the side, X or O.
        name: The agent's name in the row; the name of its class if not given.

    Returns:
        The row: `agent, env, env_kwargs, side`, and in the sliding games the expected score `mean`,
        its `share` of the optimum, the expected number of `moves`, and `reach`, the probability
        that each face is reached.  In tic-tac-toe the fractions `win, draw, loss` against random
        play, and `worst`, the worst result (-1, 0 or 1) against every opponent.

    Raises:
        ValueError: If the game is too large, or the agent plays illegal actions, or is not
            a memoryless policy.
    """
    options = dict(env_kwargs or {})
    game = Task.of(env, options).game
    row: Row = {"agent": name or type(agent).__name__, "env": env, "env_kwargs": options}
    if isinstance(game, SlidingGame):
        return row | {"side": None} | _sliding_columns(agent, game)
    side = options.get("side", "X")
    return row | {"side": side} | tictactoe.exact_columns(agent, side)


def _sliding_columns(agent: Agent, game: SlidingGame) -> Row:
    optimum = solution_of(game).start_value
    result = expected(agent, game)
    reached = np.cumsum(result.ended[::-1])[::-1]
    faces = enumerate(game.rules.faces[: len(reached)])
    fractions = {face: round(float(reached[tile]), DIGITS) for tile, face in faces if tile}
    return {
        "mean": round(result.score, DIGITS),
        "share": round(result.score / optimum, DIGITS) if optimum else 1.0,
        "moves": round(result.moves, DIGITS),
        "reach": {face: share for face, share in fractions.items() if share > 0},
    }
