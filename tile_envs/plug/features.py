"""Looked-up features of small boards, as a features extractor of Stable-Baselines3.

The kernels of its `CnnPolicy` are made for pictures, and larger than a board.
"""

from typing import Any

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
    the products with zeros: `policy_kwargs={"features_extractor_class": BoardFeatures}`.

    Args:
        observation_space: Boards as the environments give them, `(R, C)` integers.
        width: The length of the vectors, and the number of features.
    """

    offsets: Tensor

    def __init__(self, observation_space: spaces.Box, width: int = 128) -> None:
        _, rows, columns = Planes(observation_space, np.float32).space.shape
        super().__init__(observation_space, width)
        self.lowest = int(observation_space.low.min())
        self.values = int(observation_space.high.max()) - self.lowest + 1
        pairs = (rows - 1) * columns + rows * (columns - 1)
        offsets = torch.arange(pairs, dtype=torch.int32) * self.values**2
        self.register_buffer("offsets", offsets, persistent=False)
        self.pairs = nn.EmbeddingBag(pairs * self.values**2, width, mode="sum")
        nn.init.normal_(self.pairs.weight, std=pairs**-0.5)

    def forward(self, observations: Tensor) -> Tensor:
        """Return features `(n, features_dim)` of boards `(n, R, C)`."""
        cells = observations.int() - self.lowest
        down = (cells[:, :-1] * self.values + cells[:, 1:]).flatten(1)
        right = (cells[:, :, :-1] * self.values + cells[:, :, 1:]).flatten(1)
        entries = torch.cat((down, right), 1) + self.offsets
        features: Tensor = SumOfRows.apply(self.pairs.weight, entries)  # type: ignore[no-untyped-call]
        return torch.relu(features)


class SumOfRows(torch.autograd.Function):
    """The sum of the rows of a table that each board looks up, as `nn.EmbeddingBag` forms it.

    The gradient of a row is such a sum as well, of the boards that look it up.  Formed so, a batch
    of thousands takes less than half of the time of `nn.EmbeddingBag`'s on a processor.
    """

    @staticmethod
    def forward(table: Tensor, entries: Tensor) -> Tensor:
        """Return the sums `(n, width)` of the rows `entries` `(n, pairs)` of a table."""
        return nn.functional.embedding_bag(entries, table, mode="sum")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        table, entries = inputs
        ctx.rows = len(table)
        ctx.save_for_backward(entries)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (entries,) = ctx.saved_tensors
        boards = entries.flatten().argsort() // entries.shape[1]  # those of row 0, of row 1, ...
        counts = entries.flatten().bincount(minlength=ctx.rows)
        begins = counts.cumsum(0) - counts
        return nn.functional.embedding_bag(boards, gradients[0], begins, mode="sum"), None
