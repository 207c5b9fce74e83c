"""Regret: what an agent's moves lose against optimal play, exactly, on small boards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baselines.evaluation.exact import regret_of
from baselines.evaluation.rows import Row
from baselines.players import player
from baselines.task import Task
from tile_envs.agents import Agent
from tile_envs.errors import UsageError
from tile_envs.games import AnyEnv, named


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
    if isinstance(agent, str | Path):
        played = player(str(agent), env_id, options)
        return regret_of(played.agent, played.name, played.task)
    if env_id is None:
        raise UsageError("env must be given with an agent, such as 'Tiles2048-v0', got None.")
    return regret_of(agent, type(agent).__name__, Task.of(env_id, options))
