"""The clients of the environments: programs of libraries, trained and evaluated for one table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from baselines.evaluation.intervals import interval_of_mean
from baselines.evaluation.sampled import play
from baselines.registry import make_agent
from baselines.task import Task
from benchmarks.experiments import GAME_2048, GAME_2584, TICTACTOE
from benchmarks.kinds import SEED
from benchmarks.results import Row
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


SB3 = partial(Client, "Stable-Baselines3", "stable-baselines3", "SB3VecEnv", "SameStep", "sb3")
RL_ZOO = partial(Client, "rl-zoo3", "rl_zoo3", "single", "", "rl_zoo", "PPO")
RLLIB, RLLIB_PPO = partial(Client, "RLlib", "ray"), ("NextStep", "rllib", "PPO")
TORCHRL = partial(Client, "TorchRL", "torchrl", "GymWrapper, native vector", "Disabled")
TIANSHOU = partial(Client, "Tianshou", "tianshou", "DummyVectorEnv", "")
CLEANRL = partial(Client, "CleanRL style", "torch", "make_vec")
CLEANRL_PPO = partial(CLEANRL, "NextStep", "cleanrl_ppo", "PPO")
CLEANRL_DQN = partial(CLEANRL, "SameStep", "cleanrl_dqn", "DQN")
PETTINGZOO = partial(Client, "PettingZoo", "pettingzoo", "AEC", "", "pettingzoo_selfplay")
OPENSPIEL = partial(Client, "OpenSpiel", "open_spiel", "its own", "", "openspiel")

DQN = {
    "buffer_size": 100_000,
    "learning_starts": 2_000,
    "train_freq": 1,
    "gradient_steps": 2,
    "batch_size": 256,
    "learning_rate": 5e-4,
    "exploration_fraction": 0.5,
    "target_update_interval": 10_000,
}
NEAR = {"gamma": 0.95, "gae_lambda": 0.9, "learning_rate": 3e-4}
PPO = NEAR | {"n_steps": 32, "batch_size": 128, "n_epochs": 10, "ent_coef": 0.005}
A2C = NEAR | {"n_steps": 16, "ent_coef": 0.02}
A2C_TICTACTOE = {"n_steps": 16, "learning_rate": 1e-3}
SYNC = {"gym_env_vectorize_mode": "sync"}
RLLIB_TICTACTOE = SYNC | {"gamma": 1.0, "lambda_": 0.95, "vf_clip_param": 10.0}
RLLIB_TICTACTOE |= {"train_batch_size_per_learner": 4000, "minibatch_size": 500}

CLIENTS = (
    *(
        SB3(kind.split(".")[1], env, {"kind": kind, "total_timesteps": steps, **settings})
        for kind, *trainings in (
            ("sb3_contrib.MaskablePPO", (400_000, {}), (400_000, {})),
            ("stable_baselines3.PPO", (200_000, PPO), (400_000, {})),
            ("stable_baselines3.A2C", (600_000, A2C), (400_000, A2C_TICTACTOE)),
            ("stable_baselines3.DQN", (200_000, DQN), (200_000, DQN)),
            ("sb3_contrib.QRDQN", (50_000, DQN), (50_000, DQN)),
        )
        for env, (steps, settings) in zip((GAME_2048, TICTACTOE), trainings, strict=True)
    ),
    RL_ZOO(GAME_2048, {"total_timesteps": 300_000}),
    RL_ZOO(TICTACTOE, {"total_timesteps": 100_000}),
    RLLIB("2 × 8 single", *RLLIB_PPO, GAME_2048, {"total_timesteps": 400_000, **SYNC}),
    RLLIB("2 × 8 native", *RLLIB_PPO, GAME_2048, {"total_timesteps": 400_000}),
    RLLIB("2 × 8 single", *RLLIB_PPO, TICTACTOE, {"total_timesteps": 60_000, **RLLIB_TICTACTOE}),
    TORCHRL("torchrl_ppo", "PPO", GAME_2048, {"total_timesteps": 300_000}),
    TORCHRL("torchrl_dqn", "DQN", GAME_2048, {"total_timesteps": 300_000}),
    TIANSHOU("tianshou_ppo", "PPO", GAME_2048, {"total_timesteps": 120_000}),
    TIANSHOU("tianshou_dqn", "DQN", GAME_2048, {"total_timesteps": 60_000}),
    CLEANRL_PPO(GAME_2048, {"minutes": 5.0}),
    CLEANRL_PPO(GAME_2584, {"minutes": 5.0}),
    CLEANRL_PPO(TICTACTOE, {"minutes": 0.5}),
    CLEANRL_DQN(GAME_2048, {"minutes": 5.0}),
    CLEANRL_DQN(TICTACTOE, {"minutes": 0.5}),
    *(
        PETTINGZOO(f"{algorithm}, {seat}", TICTACTOE, {"seat": seat, "learns": learns})
        for seat in ("player_1", "player_2")
        for algorithm, learns in (("tabular Q-learning", True), ("minimax, not trained", False))
    ),
    *(
        OPENSPIEL(f"minimax against its MCTS, player {seat}", TICTACTOE, {"seat": seat})
        for seat in (0, 1)
    ),
    OPENSPIEL("greedy", GAME_2048, {"agent": "greedy", "name": "2048"}),
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
    finish_step, advance = GameEnv._finish_step, GameVectorEnv.advance

    def finish_and_count(env: Any, legal: int, terminated: bool) -> bool:
        count.steps += 1
        count.illegal += not legal
        return finish_step(env, legal, terminated)

    def advance_and_count(envs: Any, actions: Any) -> Any:
        outcome = advance(envs, actions)
        count.steps += envs.num_envs
        count.illegal += int(outcome.infos["illegal"].sum())
        if outcome.final is not None:
            count.illegal += int(outcome.final.infos["illegal"].sum())
        return outcome

    with (
        patch.object(GameEnv, "_finish_step", finish_and_count),
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
        **interval_of_mean(results, are_outcomes=client.env == TICTACTOE),
        "random": float(at_random.mean()),
        "illegal_training": training.illegal,
        "illegal_play": playing.illegal,
    }


Played = tuple[Count, Count, Results, Results]
"""What was counted in training and in play, and the results of the client and of random play."""


def _trained(client: Client, episodes: int) -> Played:
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
