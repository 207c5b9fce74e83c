"""Measures the vector environment of 2048 with each kind of placer of new tiles.

Steps are uniformly random legal actions, per second of CPU time on one core, as in `environments`.
The values that are minimised are those of an n-tuple network that has learned a little.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import gymnasium as gym

import tile_envs  # noqa: F401
from baselines.ntuple.ntuple import NTuple
from baselines.ntuple.settings import NTupleSettings
from baselines.search.placing import ValuePlacer
from benchmarks.speed.peers import Peer, Play
from benchmarks.speed.turns import Row, speed_key, speed_rows
from tile_envs.sliding import RULES_2048, SlidingGame

ENV, NUM_ENVS = "Tiles2048-v0", 1024
VALUES = "n-tuple values"
KINDS = ("random", "adversary", VALUES)
TAUGHT = 20
"""Iterations that the network learns."""


def keys(turns: int, **options: Any) -> list[Row]:
    """Return the columns that name each row."""
    return [speed_key(candidate) for candidate in _candidates(**options)]


def rows(turns: int, seconds: float = 0.7, **options: Any) -> list[Row]:
    """Measure all placers side by side.

    Args:
        turns: Turns of each.
        seconds: CPU time of a turn, about.
        **options: `network`, the network whose values are minimised; `num_envs`, games at once.
    """
    return speed_rows(_candidates(**options), turns, seconds)


def _candidates(network: str = "4x6", num_envs: int = NUM_ENVS, seconds: float = 0.0) -> list[Peer]:
    return [
        Peer("tile-envs", "2048", kind, num_envs, lambda n, kind=kind: _play(kind, n, network))
        for kind in KINDS
    ]


def _play(kind: str, num_envs: int, network: str) -> Play:
    placer = _value_placer(network) if kind == VALUES else kind
    envs: Any = gym.make_vec(ENV, num_envs=num_envs, placer=placer)
    envs.reset(seed=0)
    envs.action_space.seed(0)

    def play(steps: int) -> int:
        played = 0
        while played < steps:
            envs.step(envs.sample_legal_actions())
            played += num_envs
        return played

    play(100 * num_envs)
    return play


@cache
def _value_placer(network: str) -> ValuePlacer:
    game = SlidingGame(RULES_2048)
    settings = NTupleSettings(network=network, method="tc", learning_rate=1.0)
    agent = NTuple(game, 0, settings)
    for _ in range(TAUGHT):
        agent.learn()
    return ValuePlacer(agent, game)
