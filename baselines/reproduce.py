"""The sweep that makes every table of results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from baselines.evaluate import judge
from baselines.hyperparams import tuned
from baselines.roster import make_agent
from baselines.tables import Row, bands


@dataclass(frozen=True)
class Run:
    """One row of the table: an agent, where it plays, and the preset that says how."""

    agent: str
    env: str
    preset: str | None = None
    env_kwargs: dict[str, Any] = field(default_factory=dict)


SWEEP = (
    Run("random", "Tiles2048-v0", "article"),
    *(
        Run(agent, env, env_kwargs=options)
        for env, options in (
            ("Tiles2048-v0", {}),
            ("Tiles2584-v0", {}),
            ("TicTacToe-v0", {"side": "X"}),
            ("TicTacToe-v0", {"side": "O"}),
        )
        for agent in ("random", "greedy")
    ),
)


def sweep(episodes: int, seed: int) -> list[Row]:
    """Play everything in the sweep.

    Args:
        episodes: How many games, where a preset does not say.
        seed: Which games, and the agents' own random numbers.

    Returns:
        One row a run, with the run's `preset`, and `bands` if this counts games by score.
    """
    rows = []
    for run in SWEEP:
        settings = tuned(run.agent, run.env, run.preset)
        options = settings.get("env_kwargs", {}) | run.env_kwargs
        agent = make_agent(run.agent, run.env, options, seed)
        games = settings.get("episodes", episodes)
        row, record = judge(agent, run.agent, run.env, options, games, seed)
        row["preset"] = run.preset
        row["bands"] = bands(record.returns, settings["bands"]) if "bands" in settings else None
        rows.append(row)
    return rows
