"""MaskablePPO of sb3-contrib, the usual choice for games with masks, beside our own learners.

Proximal policy optimization (Schulman et al., 2017), with illegal actions left out of the policy
(Huang and Ontañón, "A closer look at invalid action masking in policy gradient algorithms", 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from torch import Tensor

from baselines.agent import Observations
from baselines.checks import check_least, check_shares
from baselines.deep.masked_dqn import game_of
from baselines.deep.networks import Branches, moves_of, shape_of
from baselines.deep.precision import half_precision
from baselines.deep.sb3_learner import SB3Learner, SB3Settings


@dataclass(frozen=True)
class PPOSettings(SB3Settings):
    """How MaskablePPO learns.

    Attributes:
        rollout_steps: Steps of each game in a round.
        batch: Transitions a gradient step.
        epochs: How often a round is gone through.
        entropy: How much is thought of playing at random.
        gae_trace: λ of the generalized advantage estimate.
    """

    learning_rate: float = 3e-4
    rollout_steps: int = 128
    batch: int = 1024
    epochs: int = 4
    entropy: float = 0.01
    gae_trace: float = 0.95

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own.
        """
        super().check()
        check_least(self, 1, "rollout_steps", "batch", "epochs")
        check_shares(self, "entropy", "gae_trace")


class BoardFeatures(BaseFeaturesExtractor):
    """Convolutions over boards, for any policy of SB3.

    Args:
        observation_space: Boards.
        game: The name of the rules, or "tictactoe".
        width: Channels of each branch of convolutions.
        bfloat16: Whether they compute in this half precision.
    """

    def __init__(
        self, observation_space: spaces.Box, game: str, width: int, bfloat16: bool = False
    ) -> None:
        shape = shape_of(observation_space)
        moves = moves_of(game, shape)
        branches = Branches(moves.planes, shape, width)
        super().__init__(observation_space, branches.features)
        self.branches, self._bfloat16 = branches, bfloat16
        self._moves = [moves]  # in a list, it is not registered

    def forward(self, observations: Tensor) -> Tensor:
        """Return features `(n, features_dim)` of boards `(n, R, C)`."""
        with half_precision(observations.device, self._bfloat16):
            features: Tensor = self.branches(self._moves[0].planes_of(observations))
        return features.float()


class ScaledRewards(VecEnvWrapper):
    """Multiplies rewards: PPO's value network learns badly from sums of thousands.

    Args:
        envs: The games.
        scale: By what.
    """

    def __init__(self, envs: VecEnv, scale: float) -> None:
        super().__init__(envs)
        self._scale = np.float32(scale)

    def reset(self) -> Any:
        """Start new games."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Play a step."""
        observations, rewards, ends, infos = self.venv.step_wait()
        return observations, rewards * self._scale, ends, infos


class PPOLearner(SB3Learner):
    """MaskablePPO that learns in rounds, one rollout each.

    Arguments are those of `SB3Learner`.

    Attributes:
        model: The model; `MaskablePPO.load` reads what `model.save` writes.

    Raises:
        ValueError: If a setting is out of its range.
    """

    model: MaskablePPO
    _settings: PPOSettings

    def _new_model(self) -> MaskablePPO:
        settings = self._settings
        return MaskablePPO(
            "MlpPolicy",
            ScaledRewards(self.bridge, settings.reward_scale),
            learning_rate=settings.learning_rates,
            n_steps=settings.rollout_steps,
            batch_size=settings.batch,
            n_epochs=settings.epochs,
            gamma=settings.discount,
            gae_lambda=settings.gae_trace,
            ent_coef=settings.entropy,
            policy_kwargs={
                "features_extractor_class": BoardFeatures,
                "features_extractor_kwargs": {
                    "game": game_of(self.bridge),
                    "width": settings.width,
                    "bfloat16": settings.uses_bfloat16,
                },
                "net_arch": list(settings.hidden),
            },
            device=settings.device,
        )

    def _play_and_learn(self) -> None:
        model = self.model
        assert model.env is not None
        model.collect_rollouts(model.env, self._callback, model.rollout_buffer, model.n_steps)
        model._update_current_progress_remaining(model.num_timesteps, model._total_timesteps)
        model.train()

    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Return an action for each observation, the most likely one if deterministic.

        Raises:
            ValueError: If these are not boards of the game and shape.
        """
        masks = self._game.legal_actions(observation) > 0  # checks them, too
        actions, _ = self.model.predict(
            observation, deterministic=deterministic, action_masks=masks
        )
        return np.where(masks.any(axis=1), actions, 0), state
