"""Trains algorithms of Stable-Baselines3 and sb3-contrib over one `SB3VecEnv`.

`MaskablePPO` is given masks.  The other algorithms have none: illegal actions are replaced by
random legal ones before they reach the game, in training and in play.  In the sliding games, PPO
and A2C would settle on a single direction then, at no cost where it is illegal: each illegal action
costs them a penalty.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.libraries.clients import Client, Row, Training
from tile_envs.wrappers.transforms import legal_choices

N_ENVS = 64
SLIDING, TICTACTOE = "Tiles2048-v0", "TicTacToe-v0"
STEPS = {
    ("MaskablePPO", SLIDING): 400_000,
    ("MaskablePPO", TICTACTOE): 400_000,
    ("PPO", SLIDING): 200_000,
    ("PPO", TICTACTOE): 400_000,
    ("A2C", SLIDING): 600_000,
    ("A2C", TICTACTOE): 400_000,
    ("DQN", SLIDING): 200_000,
    ("DQN", TICTACTOE): 200_000,
    ("QRDQN", SLIDING): 50_000,
    ("QRDQN", TICTACTOE): 50_000,
}
ROLLOUTS = {"n_steps": 64, "batch_size": 1024, "n_epochs": 4, "learning_rate": 1e-3}
REPLAYS = {
    "learning_starts": 2_000,
    "buffer_size": 100_000,
    "train_freq": 1,
    "gradient_steps": 2,
    "batch_size": 256,
    "learning_rate": 5e-4,
    "exploration_fraction": 0.5,
    "target_update_interval": 10_000,
}
MANY_EPOCHS = {"n_steps": 32, "batch_size": 128, "n_epochs": 10, "learning_rate": 3e-4}
NEAR = {"gamma": 0.95, "gae_lambda": 0.9, "ent_coef": 0.005}
SETTINGS: dict[tuple[str, str], Row] = {
    ("MaskablePPO", SLIDING): ROLLOUTS,
    ("MaskablePPO", TICTACTOE): ROLLOUTS,
    ("PPO", SLIDING): MANY_EPOCHS | NEAR,
    ("PPO", TICTACTOE): ROLLOUTS,
    ("A2C", SLIDING): {"n_steps": 16, "learning_rate": 3e-4} | NEAR | {"ent_coef": 0.02},
    ("A2C", TICTACTOE): {"n_steps": 16, "learning_rate": 1e-3},
    ("DQN", SLIDING): REPLAYS,
    ("DQN", TICTACTOE): REPLAYS,
    ("QRDQN", SLIDING): REPLAYS,
    ("QRDQN", TICTACTOE): REPLAYS,
}
CONTRIB = ("MaskablePPO", "QRDQN")
PENALIZED = {"PPO": 2.0, "A2C": 2.0}
"""What an illegal action costs in the sliding games, in units of `Log2Reward`."""
SEED = 0

CLIENTS = [
    Client(
        library="Stable-Baselines3",
        package="sb3-contrib" if name in CONTRIB else "stable-baselines3",
        module="sb3_contrib" if name in CONTRIB else "stable_baselines3",
        algorithm=name,
        env=env,
        games="SB3VecEnv",
        autoreset="SameStep",
    )
    for name, env in SETTINGS
]


def train(client: Client) -> tuple[Any, Training | None]:
    """Train a client; return its agent."""
    import sb3_contrib
    import stable_baselines3
    import torch
    from stable_baselines3.common.vec_env import VecEnv, VecNormalize

    from tile_envs.plug.sb3 import BoardFeatures, make_sb3
    from tile_envs.wrappers import vector

    algorithm, env = client.algorithm, client.env
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    is_sliding, has_masks = env == SLIDING, algorithm == "MaskablePPO"
    kinds: list[Any] = [vector.Log2Reward] if is_sliding else []
    if not has_masks:
        kinds.append(vector.ReplaceIllegal)
    if is_sliding and algorithm in PENALIZED:
        kinds.append(partial(vector.PenalizeIllegal, penalty=PENALIZED[algorithm]))
    envs: VecEnv = make_sb3(env, N_ENVS, seed=SEED, wrappers=kinds)
    if is_sliding and algorithm in PENALIZED:
        envs = VecNormalize(envs, norm_obs=False)  # rewards: their values are far from 1
    make = getattr(sb3_contrib if algorithm in CONTRIB else stable_baselines3, algorithm)
    model = make(
        "MlpPolicy",
        envs,
        seed=SEED,
        policy_kwargs={"features_extractor_class": BoardFeatures},
        **SETTINGS[algorithm, env],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.learn(STEPS[algorithm, env])
    return model if has_masks else Replacing(model), None


class Replacing:
    """A model without masks, whose illegal actions are replaced by random legal ones.

    Args:
        model: The model.
        observed: Turns boards into what the model observes.
    """

    def __init__(
        self, model: Any, observed: Callable[[NDArray[Any]], NDArray[Any]] = lambda boards: boards
    ) -> None:
        self._model, self._observed = model, observed
        self._rng = np.random.default_rng(SEED)

    def predict(
        self, observation: NDArray[Any], action_masks: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return an action for each observation `(n, R, C)`."""
        actions: NDArray[np.int64]
        actions = self._model.predict(self._observed(observation), deterministic=True)[0].copy()
        illegal = ~action_masks[np.arange(len(actions)), actions]
        actions[illegal] = legal_choices(self._rng, action_masks[illegal])
        return actions
