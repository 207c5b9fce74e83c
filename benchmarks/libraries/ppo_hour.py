"""An hour of PPO on one core: what `train ppo` does, as one short program on sb3-contrib.

    python benchmarks/libraries/ppo_hour.py --minutes 60

Games played side by side, one looked-up vector for each pair of neighboring cells, rewards scaled
for the value function, and a learning rate that falls to the end: that is all there is to it.
"""

import time

import torch
import tyro
from sb3_contrib import MaskablePPO
from torch import nn

from baselines import evaluate
from tile_envs.plug.sb3 import BoardFeatures, make_sb3

ENV = "Tiles2048-v0"
FIRST, LAST = 0.0025, 0.00001  # learning rates


def train(env_id=ENV, minutes=60.0, seed=0, n_envs=512):
    torch.set_num_threads(1)  # more only wait for each other with networks as small as these
    torch.set_flush_denormal(True)  # what Adam's moments of pairs no longer seen become is slow
    began = time.monotonic()

    def used():
        return (time.monotonic() - began) / (60 * minutes)

    model = MaskablePPO(
        "MlpPolicy",
        make_sb3(env_id, n_envs, seed=seed, reward_scale=1 / 1024),
        learning_rate=lambda _: max(LAST, FIRST * (1 - used())),
        n_steps=32,
        batch_size=8 * n_envs,
        n_epochs=4,
        gamma=0.997,
        gae_lambda=0.9,
        ent_coef=0.01,
        seed=seed,
        policy_kwargs={
            "features_extractor_class": BoardFeatures,
            "features_extractor_kwargs": {"width": 128},
            "net_arch": [128],
            "activation_fn": nn.ReLU,
            "optimizer_kwargs": {"eps": 1e-5, "fused": True},
        },
    )
    model.learn(10**12, callback=lambda *_: used() < 1)
    return model


def main(minutes: float = 60, seed: int = 0) -> None:
    """Train, then play 1,000 games."""
    print(f"mean score {evaluate(train(minutes=minutes, seed=seed), ENV)['mean']:,.0f}")


if __name__ == "__main__":
    tyro.cli(main)
