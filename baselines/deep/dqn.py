"""The learner that trains a masked DQN, round by round, through Stable-Baselines3.

The model is SB3's own (`masked_dqn`), and so are its rollouts, its replay buffer and its optimizer;
this module gives it games, makes each round a function of the seed, and holds what a run needs to
go on where it was: network, optimizer, buffer and games.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.type_aliases import TrainFreq
from stable_baselines3.common.utils import LinearSchedule

from baselines.agent import Observations
from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.sb3_bridge import Bridge
from baselines.deep.seeding import seeded
from baselines.evaluate import mean_score
from baselines.exact import against_random, policy_of
from baselines.learner import TEST_SEED, Learner, State, check, check_memory, training_envs
from tile_envs.random_stream import mix, start

BOARDS_AT_ONCE = 1024
"""So many boards go through the network together when it plays."""
COUNTERS = ("num_timesteps", "exploration_rate", "_n_calls", "_n_updates", "_episode_num")
TRANSITIONS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


@dataclass(frozen=True)
class DQNSettings:
    """How a masked DQN looks and learns.

    Attributes:
        opponent: In tic-tac-toe: random, minimax or minimax_first.
        afterstates: Whether Q(s, a) is made of the reward and the value of the afterstate.
        symmetric: Whether boards are learned from as seen from random sides; needs afterstates.
        width: Channels of each branch of convolutions.
        hidden: Widths of the layers after them.
        games_at_once: Games played side by side.
        round_steps: Steps of each of them in a round.
        gradient_steps: After each step of all games.
        batch: Transitions a gradient step.
        memory: Transitions in the replay buffer.
        warm_up: Transitions of random play before learning begins.
        learning_rate: Adam's at first; it falls evenly ...
        final_learning_rate: ... to this ...
        steps: ... during so many steps of single games; so does epsilon.
        epsilon: The share of actions that are drawn at random, at first ...
        final_epsilon: ... and at last.
        discount: γ.
        n_steps: Rewards that are summed before the target's value.
        target_steps: Steps of single games between updates of the target network.
        reward_scale: What rewards are multiplied by.
        loss_weight: What a loss of tic-tac-toe costs, when a win brings 1.
        threads: Those of torch; small networks are faster with one.
        device: cpu, cuda or auto, which is the GPU if there is one.
    """

    opponent: str = "random"
    afterstates: bool = True
    symmetric: bool = True
    width: int = 128
    hidden: tuple[int, ...] = (128,)
    games_at_once: int = 64
    round_steps: int = 4
    gradient_steps: int = 4
    batch: int = 256
    memory: int = 200_000
    warm_up: int = 5_000
    learning_rate: float = 5e-4
    final_learning_rate: float = 1e-4
    steps: int = 1_000_000
    epsilon: float = 0.1
    final_epsilon: float = 0.0
    discount: float = 0.999
    n_steps: int = 1
    target_steps: int = 8_000
    reward_scale: float = 1 / 1024
    loss_weight: float = 1.0
    threads: int = 2
    device: str = "auto"

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own.
        """
        for name in (
            *("width", "games_at_once", "round_steps", "gradient_steps", "batch", "memory"),
            *("steps", "n_steps", "target_steps", "threads"),
        ):
            check(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("learning_rate", "final_learning_rate", "reward_scale", "loss_weight"):
            check(name, getattr(self, name), 0 < getattr(self, name) < np.inf, "above 0 and finite")
        for name in ("epsilon", "final_epsilon", "discount"):
            check(name, getattr(self, name), 0 <= getattr(self, name) <= 1, "from 0 to 1")
        check("hidden", self.hidden, min(self.hidden, default=1) >= 1, "widths of at least 1")
        for name, least in (("warm_up", "batch"), ("memory", "warm_up")):
            bound = getattr(self, least)
            expected = f"at least {least}, {bound}"
            check(name, getattr(self, name), getattr(self, name) >= bound, expected)
        if self.symmetric and not self.afterstates:
            raise ValueError(
                "symmetric needs afterstates: actions are not turned along with boards."
            )


class DQNLearner(Learner):
    """A masked DQN of Stable-Baselines3 that learns in rounds.

    Args:
        env: The game.
        sides: What is learned in tic-tac-toe, of "X" and "O"; one network plays both.
        settings: How it looks and learns.
        seed: Starts the network, the games and all that is drawn.

    Attributes:
        model: The model; `model.save` writes it as SB3 does.

    Raises:
        ValueError: If a setting is out of its range, or the memory does not fit.
    """

    test_games = 100

    def __init__(
        self, env: gym.Env[Any, Any], sides: tuple[str, ...], settings: DQNSettings, seed: int
    ) -> None:
        settings.check()
        self._settings, self._seed, self._sides = settings, seed, sides
        self._env, self._game = env, cast(Any, env.unwrapped)
        side = sides[0] if len(sides) == 1 else "random"
        n = settings.games_at_once
        (envs,) = training_envs(env, (side,) if sides else (), settings.opponent, n, "SameStep")
        space = envs.single_observation_space
        transition = 2 * space.dtype.itemsize * int(np.prod(space.shape)) + 8 + 3 * 4
        check_memory(
            settings.memory * transition,
            f"a replay buffer of {settings.memory:,} transitions",
            lambda available: f"give a memory of at most {available // transition:,}",
        )
        torch.set_num_threads(settings.threads)
        self._bridge = Bridge(envs)
        with seeded(seed):
            self.model = MaskedDQN(
                "BoardPolicy",
                self._bridge,
                learning_rate=LinearSchedule(
                    settings.learning_rate, settings.final_learning_rate, 1.0
                ),
                buffer_size=settings.memory,
                learning_starts=settings.warm_up,
                batch_size=settings.batch,
                gamma=settings.discount,
                train_freq=1,
                gradient_steps=settings.gradient_steps,
                n_steps=settings.n_steps,
                target_update_interval=settings.target_steps,
                exploration_initial_eps=settings.epsilon,
                exploration_final_eps=settings.final_epsilon,
                exploration_fraction=1.0,
                loss_weight=settings.loss_weight,
                policy_kwargs={
                    "afterstates": settings.afterstates,
                    "symmetric": settings.symmetric,
                    "width": settings.width,
                    "hidden": list(settings.hidden),
                    "reward_scale": settings.reward_scale,
                },
                device=settings.device,
            )
            self._bridge.seed(int(mix(np.array(start(seed), np.uint64)) >> np.uint64(1)))
            _, self._callback = self.model._setup_learn(settings.steps, None)
        self.rounds = 0

    @property
    def games(self) -> int:
        """How many games it has played to their end."""
        return self.model._episode_num

    def learn(self) -> dict[str, float]:
        """Play a round of steps, and learn after each.

        Returns:
            The mean return and length of the last 100 games, the loss, epsilon, the steps of
            single games so far, and the share of the time that the games took.
        """
        model, settings = self.model, self._settings
        assert model.replay_buffer is not None
        assert isinstance(model.train_freq, TrainFreq)
        began, played = time.perf_counter(), self._bridge.seconds
        with seeded(self._seed, self.rounds):
            for _ in range(settings.round_steps):
                model.collect_rollouts(
                    self._bridge,
                    self._callback,
                    model.train_freq,
                    model.replay_buffer,
                    learning_starts=settings.warm_up,
                )
                if model.num_timesteps > settings.warm_up:
                    model.train(settings.gradient_steps, settings.batch)
        self.rounds += 1
        figures = {
            "steps": model.num_timesteps,
            "epsilon": model.exploration_rate,
            "environment_share": (self._bridge.seconds - played) / (time.perf_counter() - began),
        }
        if model.ep_info_buffer:
            ended = model.ep_info_buffer
            figures["mean"] = float(np.mean([game["r"] for game in ended]))
            figures["length"] = float(np.mean([game["l"] for game in ended]))
        if "train/loss" in model.logger.name_to_value:
            figures["loss"] = float(model.logger.name_to_value["train/loss"])
        return figures

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

    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return what each action is worth, in points, `(n, actions)`; minus infinity if illegal.

        Raises:
            ValueError: If these are not boards of the game and shape.
        """
        legal = self._game.legal_actions(observations) > 0  # checks them, too
        boards = np.asarray(observations)
        if boards.shape[1:] != self.model.observation_space.shape:
            expected = self.model.observation_space.shape
            raise ValueError(f"boards must have shape {expected}, got {boards.shape[1:]}.")
        network = self.model.q_net
        network.set_training_mode(False)
        parts = np.array_split(boards, max(1, -(-len(boards) // BOARDS_AT_ONCE)))
        with torch.no_grad():
            found = [
                network(torch.as_tensor(part, device=self.model.device)).cpu() for part in parts
            ]
        values = torch.cat(found).numpy().astype(np.float64) / self._settings.reward_scale
        return np.where(legal, values, -np.inf)

    def save_model(self, path: Path) -> None:
        """Write the model as Stable-Baselines3 does: `MaskedDQN.load` reads it."""
        self.model.save(path)

    def state(self) -> State:
        """Return networks, optimizer, replay buffer, games, and where learning stands."""
        model, buffer = self.model, self.model.replay_buffer
        assert buffer is not None
        assert model._last_obs is not None
        state: State = {"rounds": np.array(self.rounds), "last boards": np.asarray(model._last_obs)}
        state |= {f"model {name}": np.array(getattr(model, name)) for name in COUNTERS}
        state |= {f"buffer {name}": getattr(buffer, name) for name in TRANSITIONS}
        state |= {"buffer pos": np.array(buffer.pos), "buffer full": np.array(buffer.full)}
        for name, tensor in model.policy.state_dict().items():
            state[f"policy {name}"] = tensor.cpu().numpy()
        for index, moments in enumerate(self._moments()):
            state |= {f"adam {name} {index}": moments[name].cpu().numpy() for name in moments}
        state |= {
            f"games {name}": np.asarray(value) for name, value in self._bridge.get_state().items()
        }
        return state

    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        model, buffer = self.model, self.model.replay_buffer
        assert buffer is not None
        self.rounds = int(state["rounds"])
        for name in COUNTERS:
            setattr(model, name, state[f"model {name}"].item())
        model._last_obs = model._last_original_obs = state["last boards"].copy()
        for name in TRANSITIONS:
            getattr(buffer, name)[...] = state[f"buffer {name}"]
        buffer.pos, buffer.full = int(state["buffer pos"]), bool(state["buffer full"])
        policy = {
            name: torch.as_tensor(state[f"policy {name}"]) for name in model.policy.state_dict()
        }
        model.policy.load_state_dict(policy)
        for index, moments in enumerate(self._moments()):
            for name, moment in moments.items():
                moment.copy_(torch.as_tensor(state[f"adam {name} {index}"]))
        self._bridge.set_state({name: state[f"games {name}"] for name in self._bridge.get_state()})

    def _moments(self) -> Iterator[dict[str, torch.Tensor]]:
        """Yield what Adam keeps of each parameter; before its first step, what it begins with."""
        optimizer = self.model.policy.optimizer
        for parameter in self.model.q_net.parameters():
            moments = optimizer.state[parameter]
            if not moments:
                moments["step"] = torch.tensor(0.0)
                moments["exp_avg"] = torch.zeros_like(parameter)
                moments["exp_avg_sq"] = torch.zeros_like(parameter)
            yield moments
