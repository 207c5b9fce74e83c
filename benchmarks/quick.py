"""The short list: every agent and environment, each trained for seconds instead of minutes.

Experiments of the long list with small budgets, all of them in games, so that a second run makes
the same rows; speeds are the exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.experiments import EXPERIMENTS, GAME_2048, GAME_2584
from benchmarks.kinds import Experiment, Measure, Sampled

FEW = (Sampled(1_000),)
ALONE = (Sampled(100),)
ALONE_AND_SEARCHING = (Sampled(200), Sampled(30, depth=2))
SMALL_NETWORK = {"width": 32, "hidden": (64,), "threads": 1, "precision": "float32"}


def _shorter(table: str, labels: Sequence[str], **changes: Any) -> Iterator[Experiment]:
    """Yield experiments of a table with other budgets and evaluations.

    Args:
        table: The table.
        labels: The experiments; all of the table if empty.
        **changes: What is different; `settings` are added to those of the experiment, and `env`
            chooses the environment.
    """
    env = changes.pop("env", None)
    for each in EXPERIMENTS:
        if each.table != table or (labels and each.label not in labels):
            continue
        assert isinstance(each, Experiment)
        if env in (None, each.env):
            settings = {**each.settings, **changes.get("settings", {})}
            short = {"minutes": (), "seeds": 1, **changes, "settings": settings}
            yield replace(each, **short)


QUICK: tuple[Experiment | Measure, ...] = (
    *_shorter("agents", (), evaluations=FEW, cost=0.01),
    *_shorter("crosstable", ("random",), cost=0.8),  # for which all others are trained
    *_shorter("crosstable", ("minimax", "minimax_first", "mcts kept"), cost=0.01),
    *_shorter("crosstable", ("mcts",), agent_kwargs={"playouts": 200}, cost=0.01),
    *_shorter("crosstable", ("qtable published", "value_table published"), cost=0.01),
    *_shorter("crosstable", ("qtable", "value_table"), games=100_000, cost=0.01),
    *_shorter("crosstable", ("neural",), games=40_000, cost=0.01),
    *_shorter("crosstable", ("dqn",), games=20_000, cost=0.01),
    *_shorter(
        *("ntuple", ("one core",)),
        env=GAME_2048,
        games=1_500,
        evaluations=ALONE_AND_SEARCHING,
        cost=0.7,
    ),
    *_shorter("ntuple", ("one core",), env=GAME_2584, games=1_000, evaluations=ALONE, cost=0.5),
    *_shorter(
        *("deep", ("dqn",)),
        env=GAME_2048,
        settings={**SMALL_NETWORK, "n_envs": 64, "buffer_size": 100_000},
        games=200,
        evaluations=ALONE,
        cost=1.2,
    ),
    *_shorter("deep", ("ppo",), settings=SMALL_NETWORK, games=300, evaluations=ALONE, cost=0.3),
    *_shorter(
        *("recipe", ("article",)),
        settings={"score_games": 10, "confirmations": 1, "n_epochs": 10, "threads": 1},
        games=100,
        evaluations=(Sampled(100), Sampled(100, depth=2, samples=1)),
        cost=0.5,
    ),
    *_shorter("exact", ("random", "greedy", "optimal"), cost=0.01),
    *_shorter("exact", ("ntuple, small",), games=200_000, cost=0.1),
    *(
        replace(each, options={**each.options, **changes}, cost=0.1)
        for each in EXPERIMENTS
        if isinstance(each, Measure)
        for changes in (
            {
                "small boards": {"boards": ((GAME_2048, (2, 3)), (GAME_2584, (2, 2)))},
                "environments": {"turns": 3, "seconds": 0.2, "sizes": (1, 1024), "peers": False},
            }.get(each.label),
        )
        if changes
    ),
)
