"""Makes the rows of a library whose clients are trained here, then play a fixed list of games.

A library has a module beside this one, with `CLIENTS`, and `train(client)`, which returns the agent
that has learned, and what other processes have counted: None if it has played in this one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module

import tile_envs  # noqa: F401 # registers the games
from baselines.evaluation.sampled import play
from baselines.registry import make_agent
from baselines.task import Task
from benchmarks.libraries.clients import SEED, Client, Row, Training, client_row, installed
from benchmarks.libraries.counting import counted
from tile_envs.agents import Agent

Train = Callable[[Client], tuple[Agent, Training | None]]


def keys(module: str, episodes: int) -> list[Row]:
    """Return the columns that name each row; none without the library.

    Args:
        module: The library's module beside this one.
        episodes: The number of games of each evaluation.
    """
    return [client.key for client in _clients(module)]


def rows(module: str, episodes: int) -> list[Row]:
    """Train the clients of a library, and evaluate them.

    Args:
        module: The library's module beside this one.
        episodes: The number of games of each evaluation.

    Returns:
        A row for each client.
    """
    train = import_module(f"benchmarks.libraries.{module}").train
    return [trained_row(client, train, episodes) for client in _clients(module)]


def trained_row(client: Client, train: Train, episodes: int) -> Row:
    """Train a client, let it play a fixed list of games, and return its row.

    Args:
        client: The client.
        train: Trains it.
        episodes: The number of games.
    """
    began = time.perf_counter()
    with counted() as count:
        agent, training = train(client)
    minutes = (time.perf_counter() - began) / 60
    training = training or Training(count.steps, minutes, count.illegal)
    with counted() as playing:
        results = play(agent, client.env, episodes=episodes, seed=SEED).returns
    random = make_agent("random", Task.of(client.env).game, SEED)
    at_random = play(random, client.env, episodes=episodes, seed=SEED).returns
    return client_row(client, results, at_random, playing.illegal, training)


def _clients(module: str) -> list[Client]:
    clients: list[Client] = import_module(f"benchmarks.libraries.{module}").CLIENTS
    return [client for client in clients if installed(client)]
