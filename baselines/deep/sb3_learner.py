"""Learners on Stable-Baselines3: rounds that follow from the seed, tests, and states to go on from.

The models are SB3's own, and so are their rollouts and optimizers.  What is here gives them games,
and holds what a run needs to go on where it was: networks, optimizer, games, counters.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import LinearSchedule, safe_mean
from torch import Tensor

from baselines.checks import check, check_least, check_positive, check_shares
from baselines.deep.precision import check_precision, set_up_torch, uses_bfloat16
from baselines.deep.sb3_bridge import Bridge
from baselines.deep.seeding import seeded
from baselines.evaluate import mean_score
from baselines.exact import against_random, policy_of
from baselines.learner import TEST_SEED, Learner, State, training_envs
from tile_envs.random_stream import mix, start

RECENT_GAMES = 100
"""Of so many games SB3 keeps the return and the length."""


@dataclass(frozen=True)
class SB3Settings:
    """What all these learners are told.

    Attributes:
        opponent: In tic-tac-toe: random, minimax or minimax_first.
        width: Channels of each branch of convolutions.
        hidden: Widths of the layers after them.
        games_at_once: Games played side by side.
        learning_rate: Adam's at first; it falls evenly ...
        final_learning_rate: ... to this ...
        steps: ... during so many steps of single games.
        discount: γ.
        reward_scale: What rewards are multiplied by.
        threads: Those of torch; small networks are faster with one.
        device: cpu, cuda or auto, which is the GPU if there is one.
        precision: float32, bfloat16 or auto, which is bfloat16 if the hardware is fast at it.
    """

    opponent: str = "random"
    width: int = 128
    hidden: tuple[int, ...] = (128,)
    games_at_once: int = 64
    learning_rate: float = 2e-4
    final_learning_rate: float = 2e-5
    steps: int = 1_000_000
    discount: float = 0.999
    reward_scale: float = 1 / 1024
    threads: int = 2
    device: str = "auto"
    precision: str = "auto"

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own.
        """
        check_least(self, 1, "width", "games_at_once", "steps", "threads")
        check_shares(self, "discount")
        check_positive(self, "learning_rate", "final_learning_rate", "reward_scale")
        check_precision(self.precision)
        check("hidden", self.hidden, min(self.hidden, default=1) >= 1, "widths of at least 1")

    @property
    def uses_bfloat16(self) -> bool:
        """Whether networks compute in bfloat16."""
        return uses_bfloat16(self.precision, self.device)

    @property
    def learning_rates(self) -> LinearSchedule:
        """The learning rate as SB3 takes it."""
        return LinearSchedule(self.learning_rate, self.final_learning_rate, 1.0)


class SB3Learner(Learner):
    """The base of learners on Stable-Baselines3.

    Args:
        env: The game.
        sides: What is learned in tic-tac-toe, of "X" and "O"; one network plays both.
        settings: How it learns.
        seed: Starts the network, the games and all that is drawn.

    Attributes:
        bridge: The games that are learned from.
        model: The model.

    Raises:
        ValueError: If a setting is out of its range, or does not fit into memory.
    """

    test_games = 100
    first_test = 100
    counters: tuple[str, ...] = ("num_timesteps", "_n_updates", "_current_progress_remaining")
    """The model's attributes that count on."""

    model: Any

    def __init__(
        self, env: gym.Env[Any, Any], sides: tuple[str, ...], settings: SB3Settings, seed: int
    ) -> None:
        settings.check()
        self._env, self._sides, self._settings, self._seed = env, sides, settings, seed
        self._game: Any = env.unwrapped
        side = sides[0] if len(sides) == 1 else "random"
        n = settings.games_at_once
        (envs,) = training_envs(env, (side,) if sides else (), settings.opponent, n, "SameStep")
        set_up_torch(settings.threads)
        self.bridge = Bridge(envs)
        self.rounds = 0
        with seeded(seed):
            self.model = self._new_model()
            self.bridge.seed(int(mix(np.array(start(seed), np.uint64)) >> np.uint64(1)))
            _, self._callback = self.model._setup_learn(settings.steps, None)

    @abstractmethod
    def _new_model(self) -> BaseAlgorithm:
        """Return a model that has learned nothing, for the games of the bridge."""

    @abstractmethod
    def _play_and_learn(self) -> None:
        """Play a round, and learn from it."""

    @property
    def games(self) -> int:
        """How many games it has played to their end."""
        return self.bridge.games

    def learn(self) -> dict[str, float]:
        """Play a round, and learn from it.

        Returns:
            The mean return and length of the last 100 games, the loss, the steps of single games so
            far, and the share of the time that the games took.
        """
        began, played = time.perf_counter(), self.bridge.seconds
        with seeded(self._seed, self.rounds):
            self._play_and_learn()
        self.rounds += 1
        taken = time.perf_counter() - began
        ended, logged = self.model.ep_info_buffer, self.model.logger.name_to_value
        return {
            "steps": self.model.num_timesteps,
            "mean": float(safe_mean([game["r"] for game in ended])),
            "length": float(safe_mean([game["l"] for game in ended])),
            "loss": float(logged.get("train/loss", np.nan)),
            "environment_share": (self.bridge.seconds - played) / taken,
        }

    def test(self, games: int) -> dict[str, float]:
        """Play greedily: the mean score, or in tic-tac-toe the exact shares against random play.

        Args:
            games: How many; they are the same ones every time, and none that is learned from.
        """
        if self._sides:
            return {
                f"greedy_{name}_{side}": share
                for side in self._sides
                for name, share in against_random(policy_of(self, side), side)._asdict().items()
            }
        return {"greedy_mean": mean_score(self, self._env, games, TEST_SEED)}

    def save_model(self, path: Path) -> None:
        """Write the model as Stable-Baselines3 does, for its own `load`."""
        self.model.save(path)

    def load_model(self, path: Path) -> None:
        """Play from now on with a model that Stable-Baselines3 has saved.

        Raises:
            ValueError: If it is not whole, or has other networks.
        """
        try:
            self.model.set_parameters(path)
        except (ValueError, RuntimeError, OSError):
            raise ValueError(
                f"{path} is no model of this run: it is missing, not whole, or has other networks."
            ) from None

    def state(self) -> State:
        """Return networks, optimizer, games, and where learning stands."""
        model = self.model
        recent = np.full((RECENT_GAMES, 2), np.nan)
        for i, game in enumerate(model.ep_info_buffer):
            recent[i] = game["r"], game["l"]
        state: State = {
            "rounds": np.array(self.rounds),
            "last boards": model._last_obs,
            "last starts": model._last_episode_starts,
            "recent games": recent,
        }
        state |= {f"model {name}": np.array(getattr(model, name)) for name in self.counters}
        for name, tensor in model.policy.state_dict().items():
            state[f"policy {name}"] = tensor.cpu().numpy()
        for index, moments in enumerate(self._moments()):
            state |= {f"adam {name} {index}": moments[name].cpu().numpy() for name in moments}
        games = self.bridge.get_state()
        return state | {f"games {name}": np.asarray(value) for name, value in games.items()}

    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        model = self.model
        self.rounds = int(state["rounds"])
        model._last_obs = model._last_original_obs = state["last boards"].copy()
        model._last_episode_starts = state["last starts"].copy()
        model.ep_info_buffer.clear()
        for result, length in state["recent games"][~np.isnan(state["recent games"][:, 0])]:
            model.ep_info_buffer.append({"r": result, "l": length, "t": 0.0})
        for name in self.counters:
            setattr(model, name, state[f"model {name}"].item())
        for name, tensor in model.policy.state_dict().items():
            tensor.copy_(torch.as_tensor(state[f"policy {name}"]))
        for index, moments in enumerate(self._moments()):
            for name, moment in moments.items():
                moment.copy_(torch.as_tensor(state[f"adam {name} {index}"]))
        self.bridge.set_state({name: state[f"games {name}"] for name in self.bridge.get_state()})

    def _moments(self) -> Iterator[dict[str, Tensor]]:
        """Yield what Adam keeps of each parameter; before its first step, what it begins with."""
        optimizer = self.model.policy.optimizer
        for parameter in (p for group in optimizer.param_groups for p in group["params"]):
            moments: dict[str, Tensor] = optimizer.state[parameter]
            if not moments:
                moments["step"] = torch.tensor(0.0)
                moments["exp_avg"] = torch.zeros_like(parameter)
                moments["exp_avg_sq"] = torch.zeros_like(parameter)
            yield moments
