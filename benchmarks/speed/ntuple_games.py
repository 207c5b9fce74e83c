"""The program of ours that is measured from outside: an n-tuple network learns or plays games.

    python -m benchmarks.speed.ntuple_games FILE NETWORK METHOD GAMES         learns, and saves it
    python -m benchmarks.speed.ntuple_games FILE NETWORK METHOD GAMES DEPTH   loads, and plays

It prints the number of moves.  It saves nothing if FILE is a dot, and with a depth of 1 the
network plays alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baselines.arrays import read_arrays, write_arrays
from baselines.evaluation.sampled import play
from baselines.ntuple.ntuple import NTuple
from baselines.search.expectimax import Expectimax
from baselines.seeds import game_seeds
from baselines.task import Task

ENV = "Tiles2048-v0"
FORWARD = {"direction": "forward", "trace_decay": 0.0, "restart": False}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "TD(0)": FORWARD | {"method": "td", "learning_rate": 0.1},
    "TC": FORWARD | {"method": "tc", "learning_rate": 1.0},
}
"""The methods of the measures: those that TDL2048+ has under these names."""


def learner_of(network: str, method: str, iteration_games: int = 500, threads: int = 1) -> NTuple:
    """Return a network that has learned nothing yet."""
    shape = {"network": network, "iteration_games": iteration_games, "threads": threads}
    settings = NTuple.Settings(**{**shape, **METHODS[method]})
    return NTuple(Task.of(ENV).game, seed=0, settings=settings)


def learn(file: Path, network: str, method: str, games: int) -> int:
    """Learn from so many games, save the network, and return the moves of these games."""
    learner = learner_of(network, method, iteration_games=min(games, 500))
    while learner.games < games:
        learner.learn()
    if file != Path():
        write_arrays(file, learner.state_dict())
    return learner.moves


def play_games(file: Path, network: str, method: str, games: int, depth: int) -> int:
    """Play so many games with a saved network and a search, and return their moves."""
    learner = learner_of(network, method)
    learner.load_state_dict(read_arrays(file, sys.maxsize))
    if depth == 1:
        return int(learner.play_greedily(game_seeds(0, games))[2])
    agent = Expectimax(learner, learner.game, depth)
    return play(agent, ENV, episodes=games).moves


if __name__ == "__main__":
    file, network, method, games, *depth = sys.argv[1:]
    task = (Path(file), network, method, int(games))
    print(play_games(*task, int(depth[0])) if depth else learn(*task))
