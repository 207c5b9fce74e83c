"""Deep Q-learning (Mnih et al., "Human-level control through deep reinforcement learning", 2015).

The text to learn from is `benchmarks/libraries/cleanrl_dqn.py`: the algorithm in one file.

A network learns Q(s, a), the discounted return to expect from action a on board s.  Games are
played side by side, ε-greedily; their transitions (s, a, r, s') go into a replay buffer.  After
each step of all games, gradient steps on minibatches of the buffer move Q(s, a) towards a target
with the value of s' by a target network.  `BoardQNetwork` computes Q(s, a) from the reward and the
value of the afterstate.  What this one adds to that file:

1.  Two networks: `patterns`, looked-up lines and squares of four cells (17 on 4×4) and hidden
    layers, or `cnn`, convolutions and hidden layers.
2.  Double Q-learning, n-step returns and Adagrad (`MaskedDQN.train`).
3.  A weight for losses in tic-tac-toe.
4.  Games that a strong agent or a person has played can be learned from first (Hester et al., "Deep
    Q-learning from Demonstrations", 2018, without its additional losses).
5.  Models in Stable-Baselines3's format, and checkpoints to resume from.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.type_aliases import TrainFreq

from baselines.agents import Observations, ValueAgent, distinct
from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.sb3_learner import SB3Learner, SB3Settings
from baselines.deep.torch_setup import PART, Parts, torch_threads
from baselines.settings import Count, Fraction, Positive, Rate, check_memory
from baselines.training.learner import State
from baselines.training.recording import read_transitions
from tile_envs.errors import UsageError


@dataclass(frozen=True)
class DQNSettings(SB3Settings):
    """The settings of a masked DQN.

    Attributes:
        n_envs: Games played side by side.
        rollout_steps: Steps of each game in an iteration.
        gradient_steps: Gradient steps after each step of all games.
        batch_size: Transitions of a gradient step.
        buffer_size: Transitions in the replay buffer.
        learning_starts: Transitions of random play before it learns from games of its own.
        exploration_initial_eps: Probability of a random action at the start.
        exploration_final_eps: Probability of a random action in the end.
        exploration_fraction: Fraction of the budget over which that probability changes.
        n_steps: Rewards that are summed before the target's value (n-step returns).
        target_update_interval: Steps, of all games together, between updates of the target network.
        loss_weight: Cost of a loss in tic-tac-toe, relative to the gain of a win.
        replays: Folder of recorded games to learn from first.
        replay_steps: Gradient steps on the recorded games before the first game is played.
    """

    learning_rate: Positive = 0.02
    final_learning_rate: Positive = 0.02
    n_envs: Count = 4
    rollout_steps: Count = 4
    gradient_steps: Count = 1
    batch_size: Count = 32
    buffer_size: Count = 1_000_000
    learning_starts: Count = 100
    exploration_initial_eps: Fraction = 1.0
    exploration_final_eps: Fraction = 0.05
    exploration_fraction: Rate = 0.1
    n_steps: Count = 1
    target_update_interval: Count = 10_000
    loss_weight: Positive = 1.0
    replays: str = ""
    replay_steps: Count = 1_000

    def __post_init__(self) -> None:
        if not self.batch_size <= self.learning_starts <= self.buffer_size:
            raise UsageError(
                "learning_starts must be from batch_size to buffer_size, "
                f"{self.batch_size:,} to {self.buffer_size:,}, got {self.learning_starts:,}."
            )


class DQNLearner(ValueAgent, SB3Learner):
    """A masked DQN of Stable-Baselines3; `MaskedDQN.load` reads what its `model.save` writes."""

    Settings = DQNSettings
    version = 4
    moments = ("sum",)
    logged = ("loss", "value", "exploration")
    counters = (*SB3Learner.counters, "exploration_rate", "_n_calls", "_episode_num")
    model: MaskedDQN
    _settings: DQNSettings

    def _new_model(self) -> MaskedDQN:
        settings = self._settings
        transition = 2 * math.prod(self._game.shape) + 8 + 3 * 4  # two boards of bytes
        check_memory(
            settings.buffer_size * transition,
            f"a replay buffer of {settings.buffer_size:,} transitions",
            "give a buffer_size of at most {}",
            transition,
        )
        return MaskedDQN(
            "BoardPolicy",
            self.envs,
            train_freq=1,
            loss_weight=settings.loss_weight,
            policy_kwargs={
                "network": settings.network,
                "width": settings.width,
                "hidden": list(settings.hidden),
                "reward_scale": settings.reward_scale,
            },
            **self._shared_settings(DQN),
        )

    @property
    def _buffer(self) -> ReplayBuffer:
        assert self.model.replay_buffer is not None
        return self.model.replay_buffer

    def _play_and_learn(self) -> None:
        model, settings = self.model, self._settings
        assert isinstance(model.train_freq, TrainFreq)
        if settings.replays and self.iterations == 0:
            self.prepare()
            model.train(settings.replay_steps, settings.batch_size)
            model.q_net_target.load_state_dict(model.q_net.state_dict())
        for _ in range(settings.rollout_steps):
            model.collect_rollouts(
                self.envs,
                self._callback,
                model.train_freq,
                self._buffer,
                learning_starts=settings.learning_starts,
            )
            if model.num_timesteps > settings.learning_starts:
                model.train(settings.gradient_steps, settings.batch_size)

    def prepare(self) -> None:
        """Read recorded games, if there are any, a part into each column of the replay buffer."""
        buffer = self._buffer
        if not self._settings.replays or buffer.size() > 0:
            return
        played = read_transitions(Path(self._settings.replays), self._game)
        n, over = len(played["actions"]), played["terminations"]
        length = n // buffer.n_envs
        if not 0 < length < buffer.buffer_size:
            raise UsageError(
                f"{self._settings.replays} holds {n:,} transitions, expected from "
                f"{buffer.n_envs:,} (n_envs) to less than {self._settings.buffer_size:,} "
                "(buffer_size): change one of these."
            )

        def columns(values: NDArray[Any]) -> NDArray[Any]:
            whole = values[: length * buffer.n_envs]
            return whole.reshape(buffer.n_envs, length, *values.shape[1:]).swapaxes(0, 1)

        buffer.observations[:length] = columns(played["observations"])
        buffer.next_observations[:length] = columns(played["next_observations"])
        buffer.actions[:length, :, 0] = columns(played["actions"])
        buffer.rewards[:length] = columns(played["rewards"])
        buffer.dones[:length] = columns(over)
        # An n-step return ends where another game follows: at games left unfinished, and here.
        unfinished = (np.diff(played["episodes"], append=-1) != 0) & ~over
        buffer.timeouts[:length] = columns(unfinished)
        buffer.timeouts[length - 1] = ~columns(over)[-1]
        buffer.pos = length

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return the value of each action, `(n, actions)`; minus infinity for illegal ones."""
        after, rewards, masks = self._game.afterstates(observations)
        if after.shape[2:] != self._game.shape:
            raise UsageError(f"boards must have shape {self._game.shape}, got {after.shape[2:]}.")
        legal = masks > 0
        reached = after[legal]
        different, which = distinct(reached)
        network = self.model.q_net
        network.set_training_mode(False)
        with torch.no_grad(), torch_threads(self._settings.threads):
            boards, moved, gains = (
                torch.as_tensor(array, device=self.model.device)
                for array in (different, reached, rewards[legal].astype(np.float32))
            )
            following = torch.cat([network.q_net(p)[:, 0] for p in torch.split(boards, PART)])
            found = network.add_rewards(following[which], moved, gains).cpu().numpy()
        values = np.full(legal.shape, -np.inf)
        values[legal] = found.astype(np.float64) / self._settings.reward_scale
        return values

    def state_dict(self) -> State:
        """Return networks, optimizer, games, counters and the replay buffer."""
        pos, full = np.array(self._buffer.pos), np.array(self._buffer.full)
        return super().state_dict() | {"buffer pos": pos, "buffer full": full}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state_dict` returned."""
        super().load_state_dict(state)
        self._buffer.pos = int(state["buffer pos"])
        self._buffer.full = bool(state["buffer full"])

    def _parts(self) -> Parts:
        names = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
        return {**super()._parts(), "buffer": {name: getattr(self._buffer, name) for name in names}}
