"""Trains the PPO of `cleanrl_ppo`, one file in plain torch, over `make_vec` in its default mode."""

from __future__ import annotations

from benchmarks.libraries.clients import Client, Training
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


def train(client: Client) -> tuple[Agent, Training | None]:
    """Train a client; return its agent."""
    from benchmarks.libraries import cleanrl_ppo

    minutes = MINUTES[client.env]
    agent, _ = cleanrl_ppo.train(cleanrl_ppo.Args(client.env, SEED, minutes))
    return agent, None
