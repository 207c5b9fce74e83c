"""Convolutions for small boards, as a features extractor of Stable-Baselines3.

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


class Pairs(nn.Linear):
    """A convolution of 1×2 or 2×1, as one matrix product: twice as fast here as `Conv2d`.

    The pairs lie along `dim`: 1 for a cell and the one below it, 2 for a cell and the one to its
    right.
    """

    def __init__(self, channels: int, width: int, dim: int) -> None:
        super().__init__(2 * channels, width)
        self.dim = dim

    def forward(self, cells: Tensor) -> Tensor:
        """Return `(n, …, width)` for cells `(n, R, C, channels)`, one fewer along `dim`."""
        n = cells.shape[self.dim] - 1
        pairs = cells.narrow(self.dim, 0, n), cells.narrow(self.dim, 1, n)
        return super().forward(torch.cat(pairs, -1))


class Branches(nn.Module):
    """Two layers of convolutions over pairs of neighboring cells.

    Kernels of 1×2 and 2×1 cover exactly the cells that may merge.  Both kernels of the second layer
    follow each branch of the first; the outputs of both layers are features.
    """

    def __init__(self, planes: int, shape: tuple[int, int], width: int) -> None:
        super().__init__()
        self.first, self.second = nn.ModuleList(), nn.ModuleList()
        self.features = 0
        for dim, seen in _fitting(shape):
            self.first.append(Pairs(planes, width, dim))
            self.features += width * seen[0] * seen[1]
            branch = nn.ModuleList()
            for then, seen_then in _fitting(seen):
                branch.append(Pairs(width, width, then))
                self.features += width * seen_then[0] * seen_then[1]
            self.second.append(branch)

    def forward(self, planes: Tensor) -> Tensor:
        """Return features `(n, features)` of planes `(n, R, C, planes)`."""
        seen = []
        for convolution, branch in zip(self.first, self.second, strict=True):
            near = torch.relu(convolution(planes))
            seen.append(near.flatten(1))
            seen += [torch.relu(then(near)).flatten(1) for then in branch.children()]
        return torch.cat(seen, 1)


def _fitting(shape: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
    """Return the dimensions along which a board has pairs, each with the shape of the output."""
    left = ((1, (shape[0] - 1, shape[1])), (2, (shape[0], shape[1] - 1)))
    return [(dim, seen) for dim, seen in left if min(seen) > 0]


class BoardFeatures(BaseFeaturesExtractor):
    """One-hot planes of boards through convolutions over neighboring cells.

        policy_kwargs = {"features_extractor_class": BoardFeatures}
        PPO("MlpPolicy", make_sb3("Tiles2048-v0", 64), policy_kwargs=policy_kwargs)

    Args:
        observation_space: Boards as the environments give them, `(R, C)` integers.
        width: Channels of each branch of convolutions.

    Raises:
        ValueError: If the observations are not boards.
    """

    values: Tensor

    def __init__(self, observation_space: spaces.Box, width: int = 64) -> None:
        planes = Planes(observation_space, np.float32)
        n_planes, n_rows, n_columns = planes.space.shape
        branches = Branches(n_planes, (n_rows, n_columns), width)
        super().__init__(observation_space, branches.features)
        self.branches = branches
        values = torch.tensor(planes.values, dtype=torch.float32)
        self.register_buffer("values", values, persistent=False)

    def forward(self, observations: Tensor) -> Tensor:
        """Return features `(n, features_dim)` of boards `(n, R, C)`."""
        planes = (observations[..., None] == self.values).float()
        features: Tensor = self.branches(planes)
        return features
