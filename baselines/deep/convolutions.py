"""Networks of convolutions over boards, for `--network cnn`.

Two neighboring cells are what a move can merge, so the kernels are 1×2 and 2×1, as in the field's
networks for 2048.  Two layers see every line of three cells and every square:

                 ┌─ 1×2 ─┬─ 1×2 ─┐
    board ── planes      └─ 2×1 ─┼── features
                 └─ 2×1 ─┬─ 1×2 ─┤
                         └─ 2×1 ─┘

Kernels that are larger than what is left of a narrow board are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, create_mlp
from torch import Tensor, nn

from tile_envs.wrappers.transforms import Planes

KERNELS = ((1, 2), (2, 1))


class BoardConvolutions(BaseFeaturesExtractor):
    """Convolutions over one-hot planes of the cells, as a features extractor of SB3.

    Args:
        observation_space: Boards as the environments give them, `(R, C)` integers.
        width: Four times the channels of each convolution: what suits patterns then suits these.

    Raises:
        ValueError: If the observations are not boards.
    """

    values: Tensor

    def __init__(self, observation_space: spaces.Box, width: int = 64) -> None:
        planes = Planes(observation_space, np.float32)
        contents, *shape = planes.space.shape
        channels = max(1, width // 4)
        super().__init__(observation_space, features_dim=1)
        self.register_buffer("values", torch.from_numpy(planes.values), persistent=False)
        self.branches: Any = nn.ModuleList()
        self._features_dim = 0
        for kernel, seen in _fitting(shape):
            thens = _fitting(seen)
            layers = [nn.Conv2d(channels, channels, then) for then, _ in thens]
            self.branches.append(nn.ModuleList([nn.Conv2d(contents, channels, kernel), *layers]))
            self._features_dim += channels * sum(math.prod(left) for _, left in thens)

    def forward(self, observations: Tensor) -> Tensor:
        """Return features `(n, features_dim)` of boards `(n, R, C)`."""
        # Planes last in memory, for which torch's convolutions are fastest with few channels.
        planes = (observations[..., None] == self.values).float().permute(0, 3, 1, 2)
        seen = []
        for branch in self.branches:
            pairs = torch.relu_(branch[0](planes))
            seen += [then(pairs).permute(0, 2, 3, 1).flatten(1) for then in branch[1:]]
        return torch.relu_(torch.cat(seen, 1))


def _fitting(shape: Sequence[int]) -> list[tuple[tuple[int, int], list[int]]]:
    """Return the kernels that fit into a shape, each with the shape of what it makes of that."""
    return [
        (kernel, [n - k + 1 for n, k in zip(shape, kernel, strict=True)])
        for kernel in KERNELS
        if all(n >= k for n, k in zip(shape, kernel, strict=True))
    ]


class ConvolutionNetwork(nn.Module):
    """Values of boards by convolutions and hidden layers.

    Args:
        observation_space: The boards.
        width: That of `BoardConvolutions`.
        hidden: Widths of the hidden layers after them.
    """

    def __init__(self, observation_space: spaces.Box, width: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.features = BoardConvolutions(observation_space, width)
        self.layers = nn.Sequential(*create_mlp(self.features.features_dim, 1, list(hidden)))
        last: Any = self.layers[-1]
        nn.init.zeros_(last.weight)  # as in `PatternNetwork`

    def forward(self, boards: Tensor) -> Tensor:
        """Return the values `(n,)` of boards `(n, R, C)`."""
        values: Tensor = self.layers(self.features(boards))
        return values[:, 0]
