"""Looked-up features of small boards, as a features extractor of Stable-Baselines3.

The kernels of its `CnnPolicy` are made for pictures, and larger than a board.
"""

from __future__ import annotations

import numpy as np

from tile_envs.errors import extra
from tile_envs.wrappers.transforms import Planes

with extra("sb3"):
    import torch
    from gymnasium import spaces
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import Tensor, nn


class BoardFeatures(BaseFeaturesExtractor):
    """The sum of a vector for each pair of neighboring cells, chosen by what they hold.

    Pairs are the cells that may merge.  It is what a linear layer makes of one-hot pairs, without
    the products with zeros.

        policy_kwargs = {"features_extractor_class": BoardFeatures}
        PPO("MlpPolicy", make_sb3("Tiles2048-v0", 64), policy_kwargs=policy_kwargs)

    Args:
        observation_space: Boards as the environments give them, `(R, C)` integers.
        width: The length of the vectors, and the number of features.

    Raises:
        ValueError: If the observations are not boards.
    """

    offsets: Tensor

    def __init__(self, observation_space: spaces.Box, width: int = 128) -> None:
        _, rows, columns = Planes(observation_space, np.float32).space.shape
        super().__init__(observation_space, width)
        self.lowest = int(observation_space.low.min())
        self.values = int(observation_space.high.max()) - self.lowest + 1
        pairs = (rows - 1) * columns + rows * (columns - 1)
        offsets = torch.arange(pairs) * self.values**2
        self.register_buffer("offsets", offsets, persistent=False)
        self.pairs = nn.EmbeddingBag(pairs * self.values**2, width, mode="sum")
        nn.init.normal_(self.pairs.weight, std=pairs**-0.5)

    def forward(self, observations: Tensor) -> Tensor:
        """Return features `(n, features_dim)` of boards `(n, R, C)`."""
        cells = observations.long() - self.lowest
        down = (cells[:, :-1] * self.values + cells[:, 1:]).flatten(1)
        right = (cells[:, :, :-1] * self.values + cells[:, :, 1:]).flatten(1)
        features: Tensor = self.pairs(torch.cat((down, right), 1) + self.offsets)
        return torch.relu(features)
