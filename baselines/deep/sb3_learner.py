"""What learners on Stable-Baselines3 have in common: games, iterations, checkpoints.

What SB3 keeps private is used in this file alone, but for what `MaskedDQN` and its policy override;
`pyproject.toml` bounds the versions, and `tests/agents/test_learners.py` notices a change.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import LinearSchedule, get_device, safe_mean

from baselines.agents import distinct
from baselines.arrays import check_unpacked, size_of
from baselines.deep.torch_setup import Device, seed_generators, torch_threads, zeroed
from baselines.seeds import training_stream
from baselines.settings import Count, Fraction, Opponent, Positive, Threads, Units, Widths
from baselines.training.episodes import Sides, training_envs
from baselines.training.learner import Learner, Metrics, State
from tile_envs.errors import UsageError
from tile_envs.game import Boards, Game
from tile_envs.plug.sb3 import SB3VecEnv

OURS = {"opponent", "network", "width", "hidden", "n_envs", "final_learning_rate", "reward_scale"}
OURS |= {"threads", "rollout_steps", "replays", "replay_steps"}
"""Settings that are no arguments of the model; all others are."""
PART = 2048  # boards that a network is given at once: their vectors fit into a processor's cache


@dataclass(frozen=True)
class SB3Settings:
    """The settings of every learner on Stable-Baselines3.

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
    device: Device = "auto"


class SB3Learner(Learner):
    """The base of learners on Stable-Baselines3: one network plays both sides."""

    test_games, first_test = 100, 100
    for_playing: ClassVar[dict[str, Any]] = {"device": "auto"}
    logged: ClassVar[tuple[str, ...]] = ("loss",)  # what of the model's own log are metrics
    counters: tuple[str, ...] = ("num_timesteps", "_n_updates", "_current_progress_remaining")
    """Attributes of the model that checkpoints hold."""
    model: Any

    def __init__(self, game: Game, seed: int = 0, settings: Any = None, sides: Sides = ()) -> None:
        super().__init__(game, seed, settings, sides)
        if self._settings.device == "auto":
            self._settings = replace(self._settings, device=get_device("auto").type)
        settings = self._settings
        kind, _, number = settings.device.partition(":")
        if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
            raise UsageError(f"torch finds no device {settings.device}: give auto.")
        sides = self._sides if len(self._sides) < 2 else ("random",)
        (envs,) = training_envs(game, sides, settings.opponent, settings.n_envs, "SameStep")
        self.envs = SB3VecEnv(envs)
        rates = LinearSchedule(settings.learning_rate, settings.final_learning_rate, 1.0)
        given = {name: value for name, value in vars(settings).items() if name not in OURS}
        with torch_threads(1), seed_generators(seed, "weights"):
            self.model = self._new_model(given | {"learning_rate": rates})
            self.envs.seed(training_stream(seed))
            self.model.set_logger(Logger(None, []))  # SB3's own makes a temporary folder
            _, self._callback = self.model._setup_learn(0, None)

    def _new_model(self, arguments: dict[str, Any]) -> Any:
        """Return an untrained model, made with these arguments."""

    def _play_and_learn(self) -> None:
        """Play and learn for one iteration."""

    def _play(self, *args: Any) -> None:
        """Let the model play so many steps into its buffer, and note the progress of the run."""
        self.model.collect_rollouts(self.envs, self._callback, *args)
        self.model._update_current_progress_remaining(self.moves, self.model._total_timesteps)

    def _values(self, network: Any, boards: Boards) -> Any:
        """Return the values `(n,)` of boards `(n, R, C)` by one of the model's networks."""
        different, which = distinct(boards)
        with torch.no_grad(), torch_threads(self._settings.threads):
            parts = torch.split(torch.as_tensor(different, device=self.model.device), PART)
            return torch.cat([network(part)[:, 0] for part in parts]).cpu()[which]

    @property
    def games(self) -> int:
        """The number of games that have ended, of two sides the mean: a game's side is drawn."""
        return self.envs.episodes // (len(self._sides) or 1)

    @property
    def moves(self) -> int:
        return int(self.model.num_timesteps)

    def learn(self) -> Metrics:
        """Learn for one iteration; its metrics are of the last 100 games, and what is `logged`."""
        began, before, model = time.perf_counter(), self.envs.seconds, self.model
        model._total_timesteps = self.moves / self.progress if self.progress else np.inf
        threads = torch_threads(self._settings.threads, learning=True)
        with threads, seed_generators(self._seed, "updates", self.iterations):
            self._play_and_learn()
        self.iterations += 1
        ended, logs = model.ep_info_buffer, model.logger.name_to_value
        return {
            "timesteps": model.num_timesteps,
            "return": float(safe_mean([game["r"] for game in ended])),
            "length": float(safe_mean([game["l"] for game in ended])),
            **{name: float(logs.get(f"train/{name}", np.nan)) for name in self.logged},
            "environment_share": (self.envs.seconds - before) / (time.perf_counter() - began),
        }

    def save_model(self, path: Path) -> None:
        self.model.save(path)

    def load_model(self, path: Path) -> None:
        try:
            check_unpacked(path, 2 * size_of(self.state_dict()) + (1 << 20))  # and other entries
            self.model.set_parameters(str(path))
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # zipfile, torch and pickle raise a dozen kinds
            raise UsageError(f"{path} is no model of this run, or damaged.") from error

    def export_state(self) -> State:
        """Return a state that is enough for playing: without replay buffer and Adam's moments."""
        return zeroed(self.state_dict(), "buffer", "sum", "exp_avg", "exp_avg_sq")

    def state_dict(self) -> State:
        ended = [(game["r"], game["l"]) for game in self.model.ep_info_buffer]
        # By its name alone: options can be written in other words by another version.
        games = self.envs.get_state() | {"game": str(self._game)}
        state = {name: getattr(*place) for name, place in self._attributes().items()}
        state |= {name: tensor.cpu() for name, tensor in self._tensors().items()}
        state |= {f"games {name}": value for name, value in games.items()}
        state["recent games"] = ended + [(np.nan, np.nan)] * (100 - len(ended))  # SB3 averages 100
        return {name: np.asarray(value) for name, value in state.items()}

    def load_state_dict(self, state: State) -> None:
        model, games = self.model, self.envs.get_state()
        self.envs.set_state({n: state[f"games {n}"] for n in games} | {"game": games["game"]})
        for name, place in self._attributes().items():
            setattr(*place, state[name].copy() if state[name].ndim else state[name].item())
        model.ep_info_buffer.clear()
        recent = state["recent games"]
        for result, length in recent[~np.isnan(recent[:, 0])]:
            model.ep_info_buffer.append({"r": result, "l": length, "t": 0.0})
        with torch_threads(1):  # others start when it learns
            for name, tensor in self._tensors().items():
                tensor.copy_(torch.as_tensor(state[name]))
        model._update_learning_rate(model.policy.optimizer)  # models are saved with it

    def _attributes(self) -> dict[str, tuple[Any, str]]:
        """Return the attributes that checkpoints hold: by name, of what object, and which."""
        own = {"iterations": (self, "iterations"), "last boards": (self.model, "_last_obs")}
        own["last starts"] = self.model, "_last_episode_starts"
        return own | {f"model {name}": (self.model, name) for name in self.counters}

    def _tensors(self) -> dict[str, torch.Tensor]:
        policy = self.model.policy
        states = enumerate(policy.optimizer.state.values())
        moments = {f"moments {n} {i}": t for i, held in states for n, t in held.items()}
        return {f"policy {name}": tensor for name, tensor in policy.state_dict().items()} | moments
