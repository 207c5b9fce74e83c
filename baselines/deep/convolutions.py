"""Convolutions over boards, for `--network cnn`.

Two neighboring cells are what a move can merge, so the kernels are 1×2 and 2×1, as in the field's
networks for 2048.  Two layers see every line of three cells and, in two orders, every square:

                 ┌─ 1×2 ─┬─ 1×2 ─┐
    board ── planes      └─ 2×1 ─┼── features
                 └─ 2×1 ─┬─ 1×2 ─┤
                         └─ 2×1 ─┘
"""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from tile_envs.wrappers.transforms import Planes

KERNELS = ((1, 2), (2, 1))


class BoardConvolutions(BaseFeaturesExtractor):
    """Convolutions over one-hot planes of boards `(R, C)`, as a features extractor of SB3."""

    values: Tensor

    def __init__(self, observation_space: spaces.Box, width: int = 64) -> None:
        planes = Planes(observation_space, np.float32)
        contents, *shape = planes.space.shape
        # Cells outside a narrow board hold nothing.
        rows, columns = (max(3, side) for side in shape)
        channels = max(1, width // 4)  # a width that suits patterns then suits these
        places = rows * (columns - 2) + (rows - 2) * columns + 2 * (rows - 1) * (columns - 1)
        super().__init__(observation_space, channels * places)
        self.margin = (0, columns - shape[1], 0, rows - shape[0])
        self.register_buffer("values", torch.from_numpy(planes.values), persistent=False)
        self.first = nn.ModuleList(nn.Conv2d(contents, channels, kernel) for kernel in KERNELS)
        self.second: Any = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(channels, channels, kernel) for kernel in KERNELS)
            for _ in KERNELS
        )

    def forward(self, observations: Tensor) -> Tensor:
        """Return features `(n, features_dim)` of boards `(n, R, C)`."""
        # Planes last in memory, for which torch's convolutions are fastest with few channels.
        planes = (observations[..., None] == self.values).float().permute(0, 3, 1, 2)
        if any(self.margin):
            planes = nn.functional.pad(planes, self.margin)
        seen = []
        for first, branch in zip(self.first, self.second, strict=True):
            pairs = torch.relu_(first(planes))
            seen += [second(pairs).permute(0, 2, 3, 1).flatten(1) for second in branch]
        return torch.relu_(torch.cat(seen, 1))
