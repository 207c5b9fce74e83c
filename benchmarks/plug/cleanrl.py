"""Trains the PPO of `cleanrl_ppo`, one file in plain torch, and evaluates what it has learned."""

from __future__ import annotations

import time
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from baselines.evaluation import play, summary
from baselines.registry import make_agent
from baselines.task import Task
from benchmarks.plug.counting import counted
from benchmarks.speed.turns import machine

Row = dict[str, Any]

ALGORITHM = "PPO"
MINUTES = {"Tiles2048-v0": 5.0, "Tiles2584-v0": 5.0, "TicTacToe-v0": 1.0}
"""CPU time of each training."""
SEED = 0


def keys(episodes: int) -> list[Row]:
    """Return the columns that name each row; none without torch and tyro.

    Args:
        episodes: The number of games of each evaluation.
    """
    if not all(map(find_spec, ("torch", "tyro"))):
        return []
    return [_name(env) for env in MINUTES]


def rows(episodes: int) -> list[Row]:
    """Train on each game for its minutes, on one thread, and evaluate.

    Args:
        episodes: The number of games of each evaluation.

    Returns:
        A row for each game.
    """
    return [row(env, minutes, episodes) for env, minutes in MINUTES.items()]


def row(env: str, minutes: float, episodes: int) -> Row:
    """Train on a game, evaluate, and return the row.

    Args:
        env: The id of the environment.
        minutes: CPU time of the training.
        episodes: The number of games of the evaluation.
    """
    import torch

    from benchmarks.plug.cleanrl_ppo import Args, train

    threads = torch.get_num_threads()
    try:
        began = time.perf_counter()
        with counted() as training:
            agent, _ = train(Args(env, SEED, minutes))
        taken = (time.perf_counter() - began) / 60
        with counted() as playing:
            record = play(agent, env, episodes=episodes)
    finally:
        torch.set_num_threads(threads)
    random = play(make_agent("random", Task.of(env).game), env, episodes=episodes)
    evaluated = summary(record, ALGORITHM, env, {}, SEED)
    return _name(env) | {
        "library_version": f"torch {version('torch')}",
        "gymnasium": version("gymnasium"),
        "autoreset": "NextStep",
        "steps": training.steps,
        "minutes": round(taken, 2),
        "episodes": episodes,
        **{name: evaluated[name] for name in ("mean", "low", "high")},
        "random": float(random.returns.mean()),
        "illegal_training": training.illegal,
        "illegal_play": playing.illegal,
        "machine": machine(),
    }


def _name(env: str) -> Row:
    return {"library": "CleanRL style", "algorithm": ALGORITHM, "env": env}
