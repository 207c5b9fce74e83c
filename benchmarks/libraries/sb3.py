"""Trains MaskablePPO of sb3-contrib, or an algorithm without masks, to play 2048 in 64 games.

    python benchmarks/libraries/sb3.py              # or with PPO, A2C, DQN, QRDQN

For algorithms without masks, illegal actions are replaced by random legal ones before they reach
the game, in training and in play.  In the sliding games, PPO and A2C would then settle on one
direction, which costs nothing where it is illegal: hence a penalty.
"""

import sys
from functools import partial

import sb3_contrib
import stable_baselines3
import torch
from stable_baselines3.common.vec_env import VecNormalize

from baselines import evaluate
from tile_envs.plug.sb3 import BoardFeatures, Replacing, make_sb3
from tile_envs.wrappers.vector import Log2Reward, PenalizeIllegal, ReplaceIllegal

SETTINGS = {"n_steps": 64, "batch_size": 1024, "n_epochs": 4, "learning_rate": 1e-3}
POLICY = {"features_extractor_class": BoardFeatures}
PENALTY = 2.0  # of an illegal action, in units of Log2Reward


def train(env_id="Tiles2048-v0", seed=0, total_timesteps=400_000, kind="MaskablePPO", **settings):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    algorithm = getattr(sb3_contrib, kind, None) or getattr(stable_baselines3, kind)
    takes_masks, is_sliding = kind == "MaskablePPO", env_id != "TicTacToe-v0"
    wrappers = [Log2Reward] * is_sliding + [ReplaceIllegal] * (not takes_masks)
    if penalize := is_sliding and kind in ("PPO", "A2C"):
        wrappers.append(partial(PenalizeIllegal, penalty=PENALTY))
    envs = make_sb3(env_id, 64, seed=seed, wrappers=wrappers)
    if penalize:
        envs = VecNormalize(envs, norm_obs=False)  # rewards: their values are far from 1
    settings = settings or (SETTINGS if takes_masks else {})
    model = algorithm("MlpPolicy", envs, seed=seed, policy_kwargs=POLICY, **settings)
    model.learn(total_timesteps)
    return model if takes_masks else Replacing(model, seed)


if __name__ == "__main__":
    (kind,) = sys.argv[1:] or ["MaskablePPO"]
    print(evaluate(train(total_timesteps=40_000, kind=kind), "Tiles2048-v0")["mean"])
