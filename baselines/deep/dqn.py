"""Deep Q-learning (Mnih et al., "Human-level control through deep reinforcement learning", 2015).

The text to learn from is `benchmarks/libraries/cleanrl_dqn.py`: the algorithm in one file.  What
this one adds to that file:

1.  Networks of afterstates (`BoardQNetwork`).
2.  Double Q-learning, n-step returns, Adagrad, and a weight for losses (`MaskedDQN.train`).
3.  Games that a strong agent or a person has played can be learned from first (Hester et al., "Deep
    Q-learning from Demonstrations", 2018, without its additional losses).
4.  Models in Stable-Baselines3's format, and checkpoints to resume from.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from baselines.agents import ValueAgent
from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.q_network import OPTIONS
from baselines.deep.sb3_learner import SB3Learner, SB3Settings
from baselines.settings import Count, Fraction, Positive, Rate, check_memory
from baselines.training.recording import read_transitions
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Observations

# The arrays of a replay buffer.
STORED = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


@dataclass(frozen=True)
class DQNSettings(SB3Settings):
    """The settings of a masked DQN.

    Attributes:
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
        if not self.batch_size <= (n := self.learning_starts) <= self.buffer_size:
            raise UsageError(f"learning_starts must be from batch_size to buffer_size, got {n:,}.")


class DQNLearner(ValueAgent, SB3Learner):
    """A masked DQN of Stable-Baselines3; `MaskedDQN.load` reads what its `model.save` writes."""

    Settings = DQNSettings
    version = 4
    logged = ("loss", "value", "exploration")
    counters = (*SB3Learner.counters, "exploration_rate", "_n_calls", "_episode_num")

    def _new_model(self, arguments: dict[str, Any]) -> MaskedDQN:
        # A transition has two boards of bytes.
        n, each = self._settings.buffer_size, 2 * math.prod(self._game.shape) + 8 + 3 * 4
        check_memory(n * each, f"a buffer of {n:,}", "give a buffer_size of at most {}", each)
        network = {name: getattr(self._settings, name) for name in OPTIONS}
        return MaskedDQN("BoardPolicy", self.envs, train_freq=1, policy_kwargs=network, **arguments)

    def _play_and_learn(self) -> None:
        model, settings = self.model, self._settings
        if settings.replays and self.iterations == 0:
            self.prepare()
            model.train(settings.replay_steps, settings.batch_size)
            model.q_net_target.load_state_dict(model.q_net.state_dict())
        for _ in range(settings.rollout_steps):
            self._play(model.train_freq, model.replay_buffer, None, model.learning_starts)
            if model.num_timesteps > model.learning_starts:
                model.train(settings.gradient_steps, settings.batch_size)

    def prepare(self) -> None:
        """Read recorded games, if there are any, a part into each column of the replay buffer."""
        buffer, folder = self.model.replay_buffer, self._settings.replays
        if not folder or buffer.size() > 0:
            return
        played = read_transitions(Path(folder), self._game)
        n, over = len(played["actions"]), played["terminations"]
        length, size = n // buffer.n_envs, self._settings.buffer_size
        if not 0 < length < buffer.buffer_size:
            raise UsageError(f"{folder}: {n:,} transitions, not n_envs to {size:,} (buffer_size).")
        # An n-step return ends where another game follows: at games left unfinished, and here.
        unfinished = (np.diff(played["episodes"], append=-1) != 0) & ~over
        parts = played | {"dones": over, "timeouts": unfinished}
        for name in STORED:
            columns = getattr(buffer, name)[:length].swapaxes(0, 1)
            columns[...] = parts[name][: buffer.n_envs * length].reshape(columns.shape)
        buffer.timeouts[length - 1] = 1 - buffer.dones[length - 1]
        buffer.pos = length

    def action_values(self, observations: Observations) -> Floats:
        after, rewards, masks = self._game.afterstates(observations)
        if after.shape[2:] != (shape := self._game.shape):
            raise UsageError(f"boards must have shape {shape}, got {after.shape[2:]}.")
        legal, network = masks > 0, self.model.q_net
        reached, gains = after[legal], torch.from_numpy(rewards[legal].astype(np.float32))
        following = self._values(network.q_net, reached)
        found = network.values_of(torch.from_numpy(reached), gains, following).numpy()
        values = np.full(legal.shape, -np.inf)
        values[legal] = found.astype(np.float64) / self._settings.reward_scale
        return values

    def _attributes(self) -> dict[str, tuple[Any, str]]:
        buffer = {f"buffer {n}": (self.model.replay_buffer, n) for n in (*STORED, "pos", "full")}
        return super()._attributes() | buffer
