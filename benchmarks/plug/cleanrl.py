"""Trains the PPO of `cleanrl_ppo`, one file in plain torch, over `make_vec` in its default mode."""

from __future__ import annotations

from functools import partial

from benchmarks.plug.clients import Client, Row, Training, installed, trained_row
from tile_envs.agents import Agent

MINUTES = {"Tiles2048-v0": 5.0, "Tiles2584-v0": 5.0, "TicTacToe-v0": 0.5}
"""CPU time of each training."""
SEED = 0

CLIENTS = [
    Client(
        library="CleanRL style",
        package="torch",
        module="torch",
        algorithm="PPO",
        env=env,
        games="make_vec",
        autoreset="NextStep",
    )
    for env in MINUTES
]


def keys(episodes: int) -> list[Row]:
    """Return the columns that name each row; none without torch.

    Args:
        episodes: The number of games of each evaluation.
    """
    return [client.key for client in CLIENTS if installed(client)]


def rows(episodes: int) -> list[Row]:
    """Train on each game, on one thread, and evaluate.

    Args:
        episodes: The number of games of each evaluation.

    Returns:
        A row for each game.
    """
    return [
        trained_row(client, partial(_trained, client.env, MINUTES[client.env]), episodes)
        for client in CLIENTS
        if installed(client)
    ]


def _trained(env: str, minutes: float) -> tuple[Agent, Training | None]:
    from benchmarks.plug.cleanrl_ppo import Args, train

    agent, _ = train(Args(env, SEED, minutes))
    return agent, None
