"""The clients of the environments: programs of libraries, trained and evaluated for one table."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import numpy as np
import yaml
from numpy.typing import NDArray

from baselines.agents import Task
from baselines.deep.torch_setup import torch_threads
from baselines.evaluation.intervals import interval_of_mean
from baselines.evaluation.sampled import play
from baselines.players import make_agent
from benchmarks.results import SEED, Row
from tile_envs.agents import Agent, ask
from tile_envs.base.env import GameEnv
from tile_envs.base.vector_env import GameVectorEnv
from tile_envs.tictactoe import TicTacToe

Results = NDArray[np.float64]
VERSION = 1
"""Raised when the code of the programs, or of their evaluation, changes the rows."""


@dataclass(frozen=True)
class Client:
    """An algorithm of a library, on a game.

    Attributes:
        package: The distribution whose version is reported.
        games: How the library takes the games.
        autoreset: When ended games are reset; empty where the library does it.
        program: The module beside this one.
    """

    library: str
    package: str
    games: str
    autoreset: str
    program: str
    algorithm: str
    env: str
    arguments: Mapping[str, Any]

    @property
    def name(self) -> Row:
        """The columns that name its row."""
        names = {"measure": self.library, "algorithm": self.algorithm}
        return names | {"env": self.env, "games": self.games}


LIBRARIES = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
CLIENTS = tuple(
    Client(library, **about["shared"] | client)
    for library, about in LIBRARIES.items()
    for client in about["clients"]
)


@dataclass
class Count:
    """Steps of all games, illegal actions that reached one, and minutes by the clock."""

    steps: int = 0
    illegal: int = 0
    minutes: float = 0.0


@contextmanager
def counted() -> Iterator[Count]:
    """Count the steps of every environment of this process, whichever library plays."""
    count, began = Count(), time.perf_counter()
    step, advance = GameEnv.step, GameVectorEnv.advance

    def step_and_count(env: Any, action: Any) -> Any:
        *_, info = played = step(env, action)
        count.steps += 1
        count.illegal += info["illegal"]
        return played

    def advance_and_count(envs: Any, actions: Any) -> Any:
        outcome = advance(envs, actions)
        count.steps += envs.num_envs
        count.illegal += int(outcome.infos["illegal"].sum())
        if outcome.final is not None:
            count.illegal += int(outcome.final.infos["illegal"].sum())
        return outcome

    with (
        patch.object(GameEnv, "step", step_and_count),
        patch.object(GameVectorEnv, "advance", advance_and_count),
    ):
        yield count
    count.minutes = (time.perf_counter() - began) / 60


def of(library: str) -> list[Client]:
    """Return the clients of a library."""
    return [client for client in CLIENTS if client.library == library]


def _program(client: Client) -> Any:
    return import_module(f"benchmarks.libraries.{client.program}")


def train(client: Client, **changes: Any) -> tuple[Agent, Count]:
    """Run a client's program with changed arguments; return the policy, and what was counted."""
    program, arguments = _program(client), {"env_id": client.env, "seed": SEED}
    arguments |= client.arguments | changes
    if "kind" in arguments:
        arguments["kind"] = resolve_name(arguments["kind"])
    if client.library == "RLlib":
        arguments["callbacks_on_episode_step"] = _count_illegal
    with counted() as count:
        if hasattr(program, "Args"):
            policy, _ = program.train(program.Args(**arguments))
        else:
            policy = program.train(**arguments)
    if hasattr(policy, "result"):  # of RLlib, whose games are in other processes
        count.steps = int(policy.result["num_env_steps_sampled_lifetime"])
        count.illegal = int(policy.result["env_runners"]["illegal"])
    if not count.steps:  # of JAX, whose games are functions
        count.steps = getattr(policy, "steps", 0)
    return policy, count


def _count_illegal(*, episode: Any, metrics_logger: Any, **_: Any) -> None:
    """Add up the illegal actions that reached a game, in RLlib's metrics."""
    illegal = float(episode.get_infos(-1)["illegal"])
    metrics_logger.log_value("illegal", illegal, reduce="lifetime_sum")


def row_of(client: Client, episodes: int) -> Row:
    """Train a client, evaluate it in `episodes` games beside random play, and return its row."""
    results_of = {"PettingZoo": _pettingzoo, "OpenSpiel": _openspiel}.get(client.library, _trained)
    training, playing, results, at_random = results_of(client, episodes)
    return client.name | {
        "library_version": version(client.package),
        "gymnasium": version("gymnasium"),
        "autoreset": client.autoreset,
        "steps": training.steps,
        "minutes": round(training.minutes, 2),
        "episodes": len(results),
        "mean": float(results.mean()),
        **interval_of_mean(results, are_outcomes=client.env == "TicTacToe-v0"),
        "random": float(at_random.mean()),
        "illegal_training": training.illegal,
        "illegal_play": playing.illegal,
    }


Played = tuple[Count, Count, Results, Results]
"""What was counted in training and in play, and the results of the client and of random play."""


def _trained(client: Client, episodes: int) -> Played:
    with torch_threads(1):  # restored afterwards: programs set it, and more, for their process
        policy, training = train(client)
        with counted() as playing:
            results = play(policy, client.env, episodes=episodes, seed=SEED).returns
    random = make_agent("random", Task.of(client.env).game, SEED)
    at_random = play(random, client.env, episodes=episodes, seed=SEED).returns
    return training, playing, results, at_random


@cache
def _pettingzoo_tables() -> tuple[dict[str, Agent], Count]:
    """Return the tables of both seats, which are learned together."""
    program = import_module("benchmarks.libraries.pettingzoo_selfplay")
    with counted() as training:
        tables = program.train(seed=SEED)
    return tables, training


def _pettingzoo(client: Client, episodes: int) -> Played:
    """Return how a table that has learned, or perfect play, fares in a seat."""
    seat, training = client.arguments["seat"], Count()
    agents = {seat: make_agent("minimax", TicTacToe(side="both"), SEED)}
    if client.arguments["learns"]:
        tables, training = _pettingzoo_tables()
        agents = {seat: tables[seat]}
    with counted() as playing:
        results = pettingzoo_results(agents, seat, episodes)
    return training, playing, results, pettingzoo_results({}, seat, episodes)


def pettingzoo_results(agents: Mapping[str, Agent], seat: str, episodes: int) -> Results:
    """Return the results of a seat, `(episodes,)`; seats without an agent play at random."""
    from tile_envs.plug import pettingzoo as tictactoe

    env, rng, returns = tictactoe.env(), np.random.default_rng(1), np.zeros(episodes)
    for episode in range(episodes):
        env.reset()
        for name in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            board, mask = observation["observation"], observation["action_mask"]
            returns[episode] += reward * (name == seat)
            if terminated or truncated:
                action = None
            elif name in agents:
                action = int(ask(agents[name], board[None], mask[None])[0][0])
            else:
                action = int(rng.choice(np.flatnonzero(mask)))
            env.step(action)
    return returns


def _openspiel(client: Client, episodes: int) -> Played:
    """Return how our agents fare in OpenSpiel's games; an illegal action would be an error."""
    results = _program(client).results
    options = {"episodes": episodes, "seed": SEED, **client.arguments}
    at_random = results(**options | {"agent": "random"})
    return Count(), Count(), results(**options), at_random
