"""Proximal policy optimization with action masks, by sb3-contrib's `MaskablePPO`.

The text to learn from is `benchmarks/libraries/cleanrl_ppo.py`: the algorithm in one file.

A policy π(a | s) and a value function V(s) are learned from rollouts of games played side by side.
Gradient ascent maximizes, over several epochs of each rollout,

    E[min(ρ A, clip(ρ, 1 - c, 1 + c) A)],  ρ = π(a | s) / π_old(a | s),

with A the generalized advantage estimate and c the clip range (Schulman et al., "Proximal policy
optimization algorithms", 2017).  Illegal actions are left out of the policy (Huang and Ontañón, "A
closer look at invalid action masking in policy gradient algorithms", 2022).

What this one adds to that file: models in Stable-Baselines3's format, checkpoints to resume from,
convolutions, and action values to search with, from the value function.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from torch import nn

from baselines.agents import BoardAgent, one_or_many
from baselines.deep.convolutions import BoardConvolutions
from baselines.deep.sb3_learner import SB3Learner, SB3Settings
from baselines.deep.torch_setup import torch_threads
from baselines.settings import Count, Fraction
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Ints, Observations
from tile_envs.plug.features import BoardFeatures
from tile_envs.sliding.game import SlidingGame


@dataclass(frozen=True)
class PPOSettings(SB3Settings):
    """The settings of MaskablePPO.

    Attributes:
        n_steps: Steps of each game in a rollout; each iteration is one rollout.
        batch_size: Transitions of a gradient step.
        n_epochs: Passes over each rollout.
        ent_coef: Entropy coefficient of the loss.
        gae_lambda: λ of the generalized advantage estimate.
    """

    n_steps: Count = 2048
    batch_size: Count = 64
    n_epochs: Count = 10
    ent_coef: Fraction = 0.0
    gae_lambda: Fraction = 0.95

    def __post_init__(self) -> None:
        if self.n_envs * self.n_steps % self.batch_size == 1 or self.batch_size == 1:
            raise UsageError(f"batch_size leaves a batch of one transition, got {self.batch_size}.")


class PPOLearner(BoardAgent, SB3Learner):
    """MaskablePPO of sb3-contrib; `MaskablePPO.load` reads the models that it saves."""

    Settings = PPOSettings
    version = 5

    def _new_model(self, arguments: dict[str, Any]) -> MaskablePPO:
        settings = self._settings
        self.envs.reward_scale = settings.reward_scale
        features = BoardConvolutions if settings.network == "cnn" else BoardFeatures
        network: dict[str, Any] = {"features_extractor_class": features}
        network |= {"features_extractor_kwargs": {"width": settings.width}}
        network |= {"net_arch": list(settings.hidden), "activation_fn": nn.ReLU}
        network |= {"optimizer_kwargs": {"eps": 1e-5, "fused": True}}
        model = MaskablePPO("MlpPolicy", self.envs, policy_kwargs=network, **arguments)
        for parameter in model.policy.parameters():  # Adam's state before its first step
            state: dict[str, Any] = {"step": torch.zeros((), device=parameter.device)}
            state |= {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
            model.policy.optimizer.state[parameter] = state
        if isinstance(self._game, SlidingGame):  # in tic-tac-toe, V is against one opponent
            self.action_values = self._action_values
        return model

    def _play_and_learn(self) -> None:
        self._play(self.model.rollout_buffer, self.model.n_steps)
        self.model.train()

    def choose_actions(self, boards: Observations, deterministic: bool) -> Ints:
        masks = self._game.legal_actions(boards) > 0  # checks the cells as well
        with torch_threads(self._settings.threads):
            actions, _ = self.model.predict(boards, None, None, deterministic, masks)
        return np.where(masks.any(axis=1), actions, 0)

    @one_or_many
    def _action_values(self, boards: Observations) -> Floats:
        """Return r + γ Σ P(tile) V(s') of each action, `(n, actions)`; V(s') is 0 at the end."""
        after, rewards, masks = self._game.afterstates(boards)
        legal = masks > 0
        parents, states, probabilities = self._game.replies(after[legal])
        goes_on, found = self._game.legal_actions(states).any(axis=1), np.zeros(len(states))
        seen = self._values(self.model.policy.predict_values, states[goes_on]).numpy()
        found[goes_on] = seen / self._settings.reward_scale
        following = np.bincount(parents, probabilities * found, legal.sum())
        values = np.full(legal.shape, -np.inf)
        values[legal] = rewards[legal] + self._settings.gamma * following
        return values
