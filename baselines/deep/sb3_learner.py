"""What learners on Stable-Baselines3 have in common: games, iterations, checkpoints.

The models, their rollouts and their optimizers are SB3's or sb3-contrib's.  So are the names and
most defaults of settings; the learning rate of `dqn` is one that suits its optimizer.
"""

import inspect
import io
import time
import zipfile
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import LinearSchedule, safe_mean

from baselines.arrays import check_unpacked, size_of
from baselines.deep import torch_setup
from baselines.seeds import training_stream
from baselines.settings import Count, Fraction, Opponent, Positive, Threads, Units, Widths
from baselines.training.episodes import training_envs
from baselines.training.learner import Learner, Metrics, State
from tile_envs.errors import UsageError
from tile_envs.game import Game, describe
from tile_envs.plug.sb3 import SB3VecEnv


@dataclass(frozen=True)
class SB3Settings:
    """The settings that all learners on Stable-Baselines3 have.

    Attributes:
        opponent: The opponent in a game with sides.
        network: patterns of cells, whose vectors are looked up, or cnn, convolutions.
        width: Length of the vectors of patterns; a convolution has a quarter as many channels.
        hidden: Widths of the hidden layers after them.
        n_envs: Games played side by side.
        learning_rate: Learning rate at the start: of Adagrad in DQN, of Adam in PPO.
        final_learning_rate: Learning rate at the end of the budget; it changes linearly.
        gamma: The discount γ.
        reward_scale: Factor of rewards in training.
        threads: Threads of torch.  Small networks are fastest with one.
        device: cpu, cuda, cuda:N or auto, which is the GPU if there is one.
    """

    opponent: Opponent = "random"
    network: Literal["patterns", "cnn"] = "patterns"
    width: Units = 32
    hidden: Widths = (64,)
    n_envs: Count = 1
    learning_rate: Positive = 3e-4
    final_learning_rate: Positive = 3e-4
    gamma: Fraction = 0.99
    reward_scale: Positive = 1.0
    threads: Threads = 1
    device: torch_setup.Device = "auto"


class SB3Learner(Learner):
    """The base of learners on Stable-Baselines3: one network plays both sides."""

    Settings: ClassVar[type[Any]] = SB3Settings
    moments: ClassVar[tuple[str, ...]] = ("exp_avg", "exp_avg_sq")
    """What the optimizer, Adam, keeps of each weight."""
    logged: ClassVar[tuple[str, ...]] = ("loss",)
    """What of the model's own log are metrics."""
    test_games = 100
    first_test = 100
    counters: ClassVar[tuple[str, ...]] = (
        "num_timesteps",
        "_n_updates",
        "_current_progress_remaining",
    )
    """The counters among the model's attributes."""

    for_playing: ClassVar[dict[str, Any]] = {"device": "auto"}
    model: Any

    def __init__(
        self, game: Game, seed: int = 0, settings: Any = None, sides: tuple[str, ...] = ()
    ) -> None:
        super().__init__(game, seed, settings, sides)
        settings = self._settings = torch_setup.resolved(self._settings)
        torch_setup.check_device(settings.device)
        sides = self._sides if len(self._sides) < 2 else ("random",)
        (envs,) = training_envs(game, sides, settings.opponent, settings.n_envs, "SameStep")
        self.envs = SB3VecEnv(envs)
        with torch_setup.torch_threads(1), torch_setup.seed_generators(seed, "weights"):
            self.model = self._new_model()
            self.envs.seed(training_stream(seed))
            self.model.set_logger(Logger(None, []))  # SB3's own makes a temporary folder
            _, self._callback = self.model._setup_learn(0, None)

    @abstractmethod
    def _new_model(self) -> BaseAlgorithm:
        """Return an untrained model."""

    def _shared_settings(self, model: type[BaseAlgorithm]) -> dict[str, Any]:
        """Return the settings that a class of models takes by the same names."""
        names, settings = inspect.signature(model).parameters, self._settings
        shared = {name: value for name, value in vars(settings).items() if name in names}
        rates = LinearSchedule(settings.learning_rate, settings.final_learning_rate, 1.0)
        return shared | {"learning_rate": rates}

    @abstractmethod
    def _play_and_learn(self) -> None:
        """Play and learn for one iteration."""

    @property
    def games(self) -> int:
        """The number of games that have ended, of two sides the mean: a game's side is drawn."""
        return self.envs.episodes // max(1, len(self._sides))

    @property
    def moves(self) -> int:
        """The number of moves played."""
        return int(self.model.num_timesteps)

    def learn(self) -> Metrics:
        """Play and learn for one iteration.

        Returns:
            The steps of all games so far, the mean return and length of the last 100 games, what
            is `logged`, and the share of the iteration's time that the games took.
        """
        began, before = time.perf_counter(), self.envs.seconds
        steps = self.model.num_timesteps
        self.model._total_timesteps = steps / self.progress if self.progress else np.inf
        threads = torch_setup.torch_threads(self._settings.threads, learning=True)
        with threads, torch_setup.seed_generators(self._seed, "updates", self.iterations):
            self._play_and_learn()
        self.iterations += 1
        ended, logs = self.model.ep_info_buffer, self.model.logger.name_to_value
        return {
            "timesteps": self.model.num_timesteps,
            "return": float(safe_mean([game["r"] for game in ended])),
            "length": float(safe_mean([game["l"] for game in ended])),
            **{name: float(logs.get(f"train/{name}", np.nan)) for name in self.logged},
            "environment_share": (self.envs.seconds - before) / (time.perf_counter() - began),
        }

    def save_model(self, path: Path) -> None:
        """Write the model for SB3's own `load`."""
        self.model.save(path)

    def load_model(self, path: Path) -> None:
        """Play from now on with a model that SB3 has saved."""
        try:
            check_unpacked(path, 2 * size_of(self.state_dict()) + (1 << 20))  # and other entries
            # SB3's own loading of parameters runs what a file says before SB3 2.8.
            with zipfile.ZipFile(path) as archive:
                parameters = {
                    entry.removesuffix(".pth"): torch.load(
                        io.BytesIO(archive.read(entry)), self.model.device, weights_only=True
                    )
                    for entry in archive.namelist()
                    if entry.endswith(".pth") and entry != "pytorch_variables.pth"
                }
            self.model.set_parameters(parameters)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # zipfile, torch and pickle raise a dozen kinds
            raise UsageError(
                f"{path} is no model of this run: it is missing, damaged, or has other networks."
            ) from error

    def export_state(self) -> State:
        """Return a state that is enough for playing, with zeros in what learning alone needs."""
        return torch_setup.without(self.state_dict(), "buffer", *self.moments)

    def state_dict(self) -> State:
        """Return networks, optimizer, games, counters and the results of recent games."""
        model = self.model
        recent = np.full((100, 2), np.nan)  # the games over which SB3 averages
        for i, game in enumerate(model.ep_info_buffer):
            recent[i] = game["r"], game["l"]
        state: State = {
            "iterations": np.array(self.iterations),
            "last boards": model._last_obs,
            "last starts": model._last_episode_starts,
            "recent games": recent,
        }
        state |= {f"model {name}": np.array(getattr(model, name)) for name in self.counters}
        # By its name alone: options can be written in other words by another version.
        games = self.envs.get_state() | {"game": str(self._game)}
        return state | torch_setup.pack_parts({**self._parts(), "games": games})

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state_dict` returned."""
        games = torch_setup.part_of(state, "games")
        if str(games["game"]) == str(self._game):
            games["game"] = describe(self.envs.games.game)
        self.envs.set_state(games)
        model = self.model
        self.iterations = int(state["iterations"])
        model._last_obs = model._last_original_obs = state["last boards"].copy()
        model._last_episode_starts = state["last starts"].copy()
        model.ep_info_buffer.clear()
        for result, length in state["recent games"][~np.isnan(state["recent games"][:, 0])]:
            model.ep_info_buffer.append({"r": result, "l": length, "t": 0.0})
        for name in self.counters:
            setattr(model, name, state[f"model {name}"].item())
        torch_setup.load_parts(self._parts(), state)
        model._update_learning_rate(model.policy.optimizer)  # models are saved with it

    def _parts(self) -> torch_setup.Parts:
        policy = self.model.policy
        moments = torch_setup.moments(policy.optimizer, *self.moments)
        return {"policy": policy.state_dict(), "moments": moments}
