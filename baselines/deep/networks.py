"""Networks for boards: tile indices in, values out.

boards ── Moves.planes_of ──> one-hot planes ── Branches ──> features ── linear layers ──> values
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from baselines.deep.moves import Moves, SlidingMoves
from baselines.deep.torch_setup import half_precision
from tile_envs.errors import UsageError
from tile_envs.plug.features import Branches
from tile_envs.sliding import SlidingGame


class BoardNetwork(nn.Module):
    """Values of boards.

    Args:
        moves: The moves of the game.
        width: Channels of each branch of convolutions.
        hidden: Widths of the hidden layers after them.
        outputs: Number of values for each board.
        bfloat16: Whether all layers but the last compute in bfloat16.
    """

    def __init__(
        self, moves: Moves, width: int, hidden: Sequence[int], outputs: int, bfloat16: bool
    ) -> None:
        super().__init__()
        self._moves = [moves]  # in a list, so that it is not registered a second time
        self._bfloat16 = bfloat16
        branches = Branches(moves.planes, moves.shape, width)
        layers: list[nn.Module] = [branches]
        size = branches.features
        for out in hidden:
            layers += [nn.Linear(size, out), nn.ReLU()]
            size = out
        self.layers = nn.Sequential(*layers)
        self.last = nn.Linear(size, outputs)
        # From random weights the first steps overshoot, and switch off all units before for good.
        nn.init.zeros_(self.last.weight)

    def forward(self, boards: Tensor) -> Tensor:
        """Return values `(n, outputs)` of boards `(n, R, C)`."""
        with half_precision(boards.device, self._bfloat16):
            features = self.layers(self._moves[0].planes_of(boards))
        values: Tensor = self.last(features.float())
        return values


class ArticleNetwork(nn.Module):
    """Q(s, a) of pairs of board and action, as `article` has it.

    Args:
        game: The game.
        one_hot: Whether it sees one-hot planes instead of faces.
        bfloat16: Whether all layers but the last compute in bfloat16.
    """

    faces: Tensor

    def __init__(self, game: SlidingGame, one_hot: bool, bfloat16: bool) -> None:
        super().__init__()
        faces = torch.tensor(game.rules.faces, dtype=torch.float32)
        self.register_buffer("faces", faces, persistent=False)
        self._moves = [SlidingMoves(game)]  # in a list, so that it is not registered
        self._one_hot, self._bfloat16 = one_hot, bfloat16
        self._n_actions = game.n_actions
        channels = self._moves[0].planes if one_hot else 1
        self.convolution = nn.Conv2d(channels, 8, 3, padding=1)
        self.dense = nn.Sequential(
            *(nn.Linear(8 * math.prod(game.shape) + game.n_actions, 2048), nn.ReLU()),
            *(nn.Linear(2048, 1024), nn.ReLU()),
        )
        self.last = nn.Linear(1024, 1)
        self.apply(_initialize_as_keras)

    def forward(self, boards: Tensor, actions: Tensor) -> Tensor:
        """Return `(n,)` for boards `(n, R, C)` and actions `(n,)`."""
        if self._one_hot:
            planes = self._moves[0].planes_of(boards).movedim(-1, 1)
        else:
            planes = self.faces[boards.long()][:, None]
        chosen = nn.functional.one_hot(actions, self._n_actions).float()
        with half_precision(boards.device, self._bfloat16):
            seen = torch.relu(self.convolution(planes)).flatten(1)
            dense = self.dense(torch.cat((seen, chosen), 1))
        values: Tensor = self.last(dense.float())[:, 0]
        return values


def _initialize_as_keras(layer: nn.Module) -> None:
    if isinstance(layer, nn.Conv2d | nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)  # type: ignore[arg-type]


def symmetric_images(boards: Tensor) -> Tensor:
    """Return each board `(n, R, C)` as one of its symmetric images, drawn uniformly."""
    drawn = torch.rand(3, len(boards), 1, 1, device=boards.device) < 0.5
    boards = torch.where(drawn[0], boards.flip(1), boards)
    boards = torch.where(drawn[1], boards.flip(2), boards)
    if boards.shape[1] == boards.shape[2]:
        boards = torch.where(drawn[2], boards.transpose(1, 2), boards)
    return boards


def check_boards(space: spaces.Space[Any], shape: tuple[int, int]) -> None:
    """Check that an observation space is one of boards.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(space, spaces.Box) or space.shape != shape:
        raise UsageError(
            f"the network takes boards as the environments of tile_envs give them, of shape "
            f"{shape}, got {space}: leave out wrappers that change observations."
        )
