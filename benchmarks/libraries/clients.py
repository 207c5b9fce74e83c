"""What a client of the environments is, and the row of what it has learned."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from baselines.evaluation.sampled import interval
from benchmarks.results import Row, machine

SEED = 0
"""Seed of the games that are evaluated, and of the bootstrap."""


@dataclass(frozen=True)
class Client:
    """An algorithm of a library, on a game.

    Attributes:
        library: The library's name.
        package: The distribution whose version is told.
        module: What must be importable.
        algorithm: The algorithm.
        env: The id of the environment.
        games: How the library takes the games.
        autoreset: When ended games are reset; empty where the library does it.
    """

    library: str
    package: str
    module: str
    algorithm: str
    env: str
    games: str
    autoreset: str

    @property
    def key(self) -> Row:
        """The columns that name its row."""
        names = {"measure": self.library, "algorithm": self.algorithm}
        return names | {"env": self.env, "games": self.games}


@dataclass(frozen=True)
class Training:
    """What a training took.

    Attributes:
        steps: Steps of all games.
        minutes: Minutes by the clock.
        illegal: Illegal actions that reached a game.
    """

    steps: int = 0
    minutes: float = 0.0
    illegal: int = 0


def installed(client: Client) -> bool:
    """Tell whether a client's library is there."""
    return find_spec(client.module) is not None


def client_row(
    client: Client,
    results: NDArray[np.float64],
    at_random: NDArray[np.float64],
    illegal: int,
    training: Training = Training(),
) -> Row:
    """Return a client's row.

    Args:
        client: The client.
        results: The score or result of each game that was evaluated, `(episodes,)`.
        at_random: The same of random play.
        illegal: Illegal actions of the evaluation.
        training: What the training took.
    """
    low, high = interval(results, SEED)
    return client.key | {
        "library_version": version(client.package),
        "gymnasium": version("gymnasium"),
        "autoreset": client.autoreset,
        "steps": training.steps,
        "minutes": round(training.minutes, 2),
        "episodes": len(results),
        "mean": float(results.mean()),
        "low": low,
        "high": high,
        "random": float(at_random.mean()),
        "illegal_training": training.illegal,
        "illegal_play": illegal,
        "machine": machine(),
    }
