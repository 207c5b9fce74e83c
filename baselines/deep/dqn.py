"""The learner that trains a masked DQN, through Stable-Baselines3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.type_aliases import TrainFreq

from baselines.agent import Observations, ValueAgent
from baselines.checks import check, check_least, check_memory, check_positive, check_shares
from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.sb3_learner import SB3Learner, SB3Settings
from baselines.learner import State
from baselines.replays import Transitions, read_transitions

BOARDS_AT_ONCE = 1024
"""So many boards go through the network together when it plays."""
TRANSITIONS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


@dataclass(frozen=True)
class DQNSettings(SB3Settings):
    """How a masked DQN looks and learns.

    Attributes:
        afterstates: Whether Q(s, a) is made of the reward and the value of the afterstate.
        symmetric: Whether boards are learned from as seen from random sides; needs afterstates.
        round_steps: Steps of each game in a round.
        gradient_steps: After each step of all games.
        batch: Transitions a gradient step.
        memory: Transitions in the replay buffer.
        warm_up: Transitions of random play before learning begins.
        epsilon: The share of actions that are drawn at random; it falls as the learning rate ...
        final_epsilon: ... to this.
        n_steps: Rewards that are summed before the target's value.
        target_steps: Steps of single games between updates of the target network.
        loss_weight: What a loss of tic-tac-toe costs, when a win brings 1.
        replays: A folder of games in files that are learned from at first ...
        replay_steps: ... in so many gradient steps, before any is played.
    """

    afterstates: bool = True
    symmetric: bool = True
    round_steps: int = 4
    gradient_steps: int = 4
    batch: int = 256
    memory: int = 200_000
    warm_up: int = 5_000
    epsilon: float = 0.1
    final_epsilon: float = 0.0
    n_steps: int = 1
    target_steps: int = 1_600
    loss_weight: float = 1.0
    replays: str = ""
    replay_steps: int = 1_000

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own.
        """
        super().check()
        check_least(self, 1, "round_steps", "gradient_steps", "batch", "memory", "n_steps")
        check_least(self, 1, "target_steps", "replay_steps")
        check_shares(self, "epsilon", "final_epsilon")
        check_positive(self, "loss_weight")
        for name, least in (("warm_up", "batch"), ("memory", "warm_up")):
            bound = getattr(self, least)
            expected = f"at least {least}, {bound}"
            check(name, getattr(self, name), getattr(self, name) >= bound, expected)
        if self.symmetric and not self.afterstates:
            raise ValueError("symmetric needs afterstates: actions would have to be turned, too.")


class DQNLearner(ValueAgent, SB3Learner):
    """A masked DQN of Stable-Baselines3 that learns in rounds.

    Arguments are those of `SB3Learner`.

    Attributes:
        model: The model; `MaskedDQN.load` reads what `model.save` writes.

    Raises:
        ValueError: If a setting is out of its range, or the memory does not fit.
    """

    counters = (*SB3Learner.counters, "exploration_rate", "_n_calls", "_episode_num")
    model: MaskedDQN
    _settings: DQNSettings

    def _new_model(self) -> MaskedDQN:
        settings, space = self._settings, self._env.observation_space
        assert space.dtype is not None
        assert space.shape is not None
        transition = 2 * space.dtype.itemsize * math.prod(space.shape) + 8 + 3 * 4
        check_memory(
            settings.memory * transition,
            f"a replay buffer of {settings.memory:,} transitions",
            lambda available: f"give a memory of at most {available // transition:,}",
        )
        return MaskedDQN(
            "BoardPolicy",
            self.bridge,
            learning_rate=settings.learning_rates,
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
                "bfloat16": settings.uses_bfloat16,
            },
            device=settings.device,
        )

    def prepare(self) -> None:
        """Read the replays, if there are any.

        Raises:
            ValueError: If they are of another game, or do not fit into the memory.
        """
        buffer = self.model.replay_buffer
        assert buffer is not None
        if self._settings.replays and buffer.size() == 0:
            self._remember(read_transitions(Path(self._settings.replays), self._env))

    def _remember(self, played: Transitions) -> None:
        """Put games into the replay buffer, each stretch of them in one of its columns."""
        buffer = self.model.replay_buffer
        assert buffer is not None
        length = len(played.actions) // buffer.n_envs
        if not 0 < length < buffer.buffer_size:
            raise ValueError(
                f"{self._settings.replays} holds {len(played.actions):,} transitions, expected "
                f"from {buffer.n_envs:,} (games_at_once) to less than {self._settings.memory:,} "
                "(memory): change one of these."
            )

        def columns(values: NDArray[Any]) -> NDArray[Any]:
            whole = values[: length * buffer.n_envs]
            return whole.reshape(buffer.n_envs, length, *values.shape[1:]).swapaxes(0, 1)

        buffer.observations[:length] = columns(played.boards)
        buffer.next_observations[:length] = columns(played.following)
        buffer.actions[:length, :, 0] = columns(played.actions)
        buffer.rewards[:length] = columns(played.rewards)
        buffer.dones[:length] = columns(played.over)
        buffer.timeouts[length - 1] = ~columns(played.over)[-1]  # other games follow there
        buffer.pos = length

    def _play_and_learn(self) -> None:
        model, settings = self.model, self._settings
        assert model.replay_buffer is not None
        assert isinstance(model.train_freq, TrainFreq)
        if settings.replays and self.rounds == 0:
            self.prepare()
            model.train(settings.replay_steps, settings.batch)
            model.q_net_target.load_state_dict(model.q_net.state_dict())
        for _ in range(settings.round_steps):
            model.collect_rollouts(
                self.bridge,
                self._callback,
                model.train_freq,
                model.replay_buffer,
                learning_starts=settings.warm_up,
            )
            if model.num_timesteps > settings.warm_up:
                model.train(settings.gradient_steps, settings.batch)

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

    def state(self) -> State:
        """Return networks, optimizer, games, replay buffer, and where learning stands."""
        buffer = self.model.replay_buffer
        assert buffer is not None
        state = super().state()
        state |= {f"buffer {name}": getattr(buffer, name) for name in TRANSITIONS}
        return state | {"buffer pos": np.array(buffer.pos), "buffer full": np.array(buffer.full)}

    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        super()._take_over(state)
        buffer = self.model.replay_buffer
        assert buffer is not None
        for name in TRANSITIONS:
            getattr(buffer, name)[...] = state[f"buffer {name}"]
        buffer.pos, buffer.full = int(state["buffer pos"]), bool(state["buffer full"])
