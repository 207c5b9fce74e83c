"""Trains MaskablePPO of sb3-contrib, or an algorithm without masks, to play 2048 in 64 games.

For algorithms without masks, illegal actions are replaced by random legal ones before they reach
the game, in training and in play.  In the sliding games, PPO and A2C would then settle on one
direction, which costs nothing where it is illegal: hence a penalty.
"""

from functools import partial

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.vec_env import VecNormalize

from baselines import evaluate
from tile_envs.plug.sb3 import BoardFeatures, make_sb3
from tile_envs.wrappers.transforms import legal_choices
from tile_envs.wrappers.vector import Log2Reward, PenalizeIllegal, ReplaceIllegal

SETTINGS = {"n_steps": 64, "batch_size": 1024, "n_epochs": 4, "learning_rate": 1e-3}
POLICY = {"features_extractor_class": BoardFeatures}
PENALTY = 2.0  # of an illegal action, in units of Log2Reward


def train(env_id="Tiles2048-v0", total_timesteps=400_000, seed=0, kind=MaskablePPO, **settings):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    is_sliding = env_id != "TicTacToe-v0"
    wrappers = [Log2Reward] if is_sliding else []
    if kind is not MaskablePPO:
        wrappers.append(ReplaceIllegal)
    if penalize := is_sliding and kind in (PPO, A2C):
        wrappers.append(partial(PenalizeIllegal, penalty=PENALTY))
    envs = make_sb3(env_id, 64, seed=seed, wrappers=wrappers)
    if penalize:
        envs = VecNormalize(envs, norm_obs=False)  # rewards: their values are far from 1
    model = kind("MlpPolicy", envs, seed=seed, policy_kwargs=POLICY, **settings or SETTINGS)
    model.learn(total_timesteps)
    return model if kind is MaskablePPO else Replacing(model, seed)


class Replacing:
    def __init__(self, model, seed):
        self.model, self.rng = model, np.random.default_rng(seed)

    def predict(self, observation, action_masks):
        actions = self.model.predict(observation, deterministic=True)[0].copy()
        illegal = ~action_masks[np.arange(len(actions)), actions]
        actions[illegal] = legal_choices(self.rng, action_masks[illegal])
        return actions


if __name__ == "__main__":
    print(evaluate(train(total_timesteps=40_000), "Tiles2048-v0")["mean"])
