"""Trains MaskablePPO, PPO, A2C, DQN or QRDQN of Stable-Baselines3 and sb3-contrib on 64 games.

    python benchmarks/libraries/sb3.py

Only MaskablePPO takes masks.  For the others, illegal actions are replaced by random legal ones
before they reach the game, in training and in play.  In the sliding games, PPO and A2C would then
settle on one direction, which costs nothing where it is illegal: hence a penalty.
"""

from functools import partial

import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from stable_baselines3.common.vec_env import VecNormalize

from baselines import evaluate
from tile_envs.plug.sb3 import BoardFeatures, make_sb3
from tile_envs.wrappers.transforms import legal_choices
from tile_envs.wrappers.vector import Log2Reward, PenalizeIllegal, ReplaceIllegal

N_ENVS = 64
PENALTY = 2.0  # of an illegal action, in units of Log2Reward
PPO = {"n_steps": 64, "batch_size": 1024, "n_epochs": 4, "learning_rate": 1e-3}
DQN = {
    "buffer_size": 100_000,
    "learning_starts": 2_000,
    "train_freq": 1,
    "gradient_steps": 2,
    "batch_size": 256,
    "learning_rate": 5e-4,
    "exploration_fraction": 0.5,
    "target_update_interval": 10_000,
}
SETTINGS = {
    "MaskablePPO": PPO,
    "PPO": PPO,
    "A2C": {"n_steps": 16, "learning_rate": 1e-3},
    "DQN": DQN,
    "QRDQN": DQN,
}
NEAR = {"gamma": 0.95, "gae_lambda": 0.9, "learning_rate": 3e-4}
PENALIZED = {  # in the sliding games
    "PPO": NEAR | {"n_steps": 32, "batch_size": 128, "n_epochs": 10, "ent_coef": 0.005},
    "A2C": NEAR | {"n_steps": 16, "ent_coef": 0.02},
}


def train(env_id="Tiles2048-v0", total_timesteps=400_000, seed=0, algorithm="MaskablePPO"):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    settings, wrappers = SETTINGS[algorithm], []
    if is_sliding := env_id != "TicTacToe-v0":
        wrappers.append(Log2Reward)
    if algorithm != "MaskablePPO":
        wrappers.append(ReplaceIllegal)
    if penalize := is_sliding and algorithm in PENALIZED:
        settings = PENALIZED[algorithm]
        wrappers.append(partial(PenalizeIllegal, penalty=PENALTY))
    envs = make_sb3(env_id, N_ENVS, seed=seed, wrappers=wrappers)
    if penalize:
        envs = VecNormalize(envs, norm_obs=False)  # rewards: their values are far from 1
    library = sb3_contrib if hasattr(sb3_contrib, algorithm) else stable_baselines3
    model = getattr(library, algorithm)(
        "MlpPolicy",
        envs,
        seed=seed,
        policy_kwargs={"features_extractor_class": BoardFeatures},
        **settings,
    )
    model.learn(total_timesteps)
    return model if algorithm == "MaskablePPO" else Replacing(model, seed)


class Replacing:
    """A model without masks, whose illegal actions are replaced by random legal ones."""

    def __init__(self, model, seed):
        self.model, self.rng = model, np.random.default_rng(seed)

    def predict(self, observation, action_masks):
        actions = self.model.predict(observation, deterministic=True)[0].copy()
        illegal = ~action_masks[np.arange(len(actions)), actions]
        actions[illegal] = legal_choices(self.rng, action_masks[illegal])
        return actions


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=40_000), "Tiles2048-v0")["mean"])
