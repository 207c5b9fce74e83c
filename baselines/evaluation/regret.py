"""Regret: what an agent's moves lose against optimal play, exactly, on small boards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from baselines.evaluation.exact import DIGITS, check_whole_games, reached
from baselines.evaluation.rows import Row
from baselines.players import player
from baselines.solver.solve import solution_of
from baselines.task import Task
from tile_envs.agents import Agent, check_plays
from tile_envs.errors import UsageError
from tile_envs.games import AnyEnv, named
from tile_envs.sliding.game import SlidingGame


def regret(
    agent: Agent | str | Path,
    env: AnyEnv | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Row:
    """Compare an agent with optimal play, over all boards that its games can reach.

        row = regret("greedy", "Tiles2048-v0", {"shape": (2, 3)})
        row["regret"]  # points a game
        worst = np.nanargmax(np.nanmax(row["losses"], axis=1))
        row["boards"][worst]

    Args:
        agent: One whose play depends on the board alone (see `baselines.evaluate_exactly`), or the
            name of an agent or the folder of a run.
        env: The environment or its id; an agent by name or folder has a usual one.
        env_kwargs: The environment's options: those of a board that can be solved.

    Returns:
        The row: `agent, env, env_kwargs, side`; the expected score `mean`, that of optimal play
        `optimum`, and their difference, the `regret`; of the m states in which the agent has to
        move `boards`, `(m, R, C)` tile indices, `chances`, `(m,)`, the probability that a game
        comes there, `policy`, `(m, 4)`, its probabilities of moves, and `losses`, `(m, 4)`, the
        value of the best move less that of each one that it makes, NaN for others.
        `np.nansum(chances[:, None] * policy * losses)` is the regret.

    Raises:
        ValueError: If the game cannot be solved, or the agent plays illegal actions, or is not a
            memoryless policy.
    """
    env_id, options = named(env, env_kwargs)
    check_whole_games(options or {})
    if isinstance(agent, str | Path):
        played = player(str(agent), env_id, options)
        agent, name, task = played.agent, played.name, played.task
    elif env_id is None:
        raise UsageError("env must be given with an agent, such as 'Tiles2048-v0', got None.")
    else:
        name, task = type(agent).__name__, Task.of(env_id, options)
    game = task.game
    check_plays(agent, game)
    if not isinstance(game, SlidingGame):
        raise UsageError(f"regret is that of sliding games, got {game}: see evaluate_exactly.")
    solution = solution_of(game)
    parts = list(reached(agent, game))
    boards, chances, rewards, policy, _ = map(np.concatenate, zip(*parts, strict=True))
    values = solution.action_values(boards)
    losses = np.where(policy > 0, values.max(axis=1, keepdims=True) - values, np.nan)
    mean = float((chances[:, None] * policy * rewards).sum())
    optimum = solution.start_value
    return {
        "agent": name,
        "env": task.env,
        "env_kwargs": dict(task.env_kwargs),
        "side": None,
        "mean": round(mean, DIGITS),
        "optimum": round(optimum, DIGITS),
        "regret": round(optimum - mean, DIGITS),
        "boards": boards,
        "chances": chances,
        "policy": policy,
        "losses": losses,
    }
