"""Networks for boards: tile indices in, one value for each action out, illegal ones masked.

The rules are looked up in tensors made from the package's own tables, so that a plain observation
is all that a network needs: it finds the legal actions, the afterstates and the rewards by itself.

    boards ── Moves ──> afterstates, rewards, legal actions
    boards ── planes_of ──> one-hot planes ── Branches ──> features ── linear layers ──> values
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from baselines.deep.precision import half_precision
from tile_envs.sliding.env import VERTICAL
from tile_envs.sliding.rules import ACTIONS, MAX_SIDE, RULES_2048, RULES_2584
from tile_envs.sliding.tables import (
    CELL_BITS,
    CELL_MASK,
    LINE_MASK,
    REWARD_MASK,
    REWARD_SHIFT,
    compile_tables,
)
from tile_envs.tictactoe.positions import CELLS, WINNING_LINES

TICTACTOE = "tictactoe"
RULES = {rules.name: rules for rules in (RULES_2048, RULES_2584)}
ILLEGAL = -1e9
"""What an illegal action is worth: finite, as a target multiplies it by 0 once a game is over."""


class SlidingMoves(nn.Module):
    """What each action makes of boards of a sliding game.

    Args:
        rules: The name of the rules.
        shape: Rows and columns.
    """

    pushed: Tensor
    offsets: Tensor
    places: Tensor

    def __init__(self, rules: str, shape: tuple[int, int]) -> None:
        super().__init__()
        tables = compile_tables(RULES[rules], shape)
        self._keep("pushed", tables.pushed)
        self._keep("offsets", tables.offsets)
        self._keep("places", CELL_BITS * np.arange(MAX_SIDE))
        self.planes = RULES[rules].largest + 1
        self._n_rows, self._n_columns = shape

    def forward(self, boards: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Look up all moves.

        Args:
            boards: `(n, R, C)` tile indices of any dtype.

        Returns:
            Afterstates `(n, 4, R, C) int64`, rewards `(n, 4) float32`, and which actions are legal,
            `(n, 4) bool`.
        """
        cells = boards.long()
        rows = (cells << self.places[: self._n_columns]).sum(dim=2)
        columns = (cells << self.places[: self._n_rows, None]).sum(dim=1)
        after, rewards, legal = [], [], []
        for action in range(len(ACTIONS)):
            is_vertical = action in VERTICAL
            lines = columns if is_vertical else rows
            found = self.pushed[self.offsets[action] + lines]
            pushed = found & LINE_MASK
            length = self._n_rows if is_vertical else self._n_columns
            tiles = pushed[:, :, None] >> self.places[:length] & CELL_MASK
            after.append(tiles.transpose(1, 2) if is_vertical else tiles)
            rewards.append((found >> REWARD_SHIFT & REWARD_MASK).sum(dim=1))
            legal.append((pushed != lines).any(dim=1))
        return torch.stack(after, 1), torch.stack(rewards, 1).float(), torch.stack(legal, 1)

    def ended(self, afterstates: Tensor) -> Tensor:
        """Return which afterstates `(n, R, C)` end the game: none, a tile appears on each."""
        return torch.zeros(len(afterstates), dtype=torch.bool, device=afterstates.device)

    def planes_of(self, boards: Tensor) -> Tensor:
        """Return a plane for each tile index, the empty cell included, `(n, R, C, planes)`."""
        return nn.functional.one_hot(boards.long(), self.planes).float()

    def _keep(self, name: str, array: np.ndarray[Any, Any]) -> None:
        # Not persistent: a saved model names its rules instead of holding tables of 16 MiB.
        self.register_buffer(name, torch.tensor(array), persistent=False)


class TicTacToeMoves(nn.Module):
    """What each action makes of positions of tic-tac-toe, as the player to move sees them."""

    lines: Tensor
    marks: Tensor
    planes = 2

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("lines", torch.tensor(WINNING_LINES), persistent=False)
        self.register_buffer("marks", torch.eye(CELLS, dtype=torch.int64), persistent=False)

    def forward(self, boards: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Look up all moves.

        Args:
            boards: `(n, 3, 3)`, own marks 1, the other's -1.

        Returns:
            Afterstates `(n, 9, 3, 3) int64`, rewards `(n, 9) float32`, 1 for three in a row, and
            which actions are legal, `(n, 9) bool`; none is once the game is over.
        """
        cells = boards.long().flatten(1)
        after = cells[:, None] + self.marks
        wins = self._wins(after)
        is_over = self._wins(cells) | self._wins(-cells)
        legal = (cells == 0) & ~is_over[:, None]
        return after.reshape(len(boards), CELLS, *boards.shape[1:]), wins.float(), legal

    def ended(self, afterstates: Tensor) -> Tensor:
        """Return which afterstates `(n, 3, 3)` end the game: by a win, or as the board is full."""
        cells = afterstates.flatten(1)
        return self._wins(cells) | (cells != 0).all(dim=1)

    def planes_of(self, boards: Tensor) -> Tensor:
        """Return a plane of own marks and one of the other's, `(n, 3, 3, 2)`."""
        return torch.stack((boards == 1, boards == -1), -1).float()

    def _wins(self, cells: Tensor) -> Tensor:
        """Return where own marks `(…, 9)` are three in a row."""
        return (cells[..., self.lines].sum(dim=-1) == len(self.lines[0])).any(dim=-1)


def moves_of(game: str, shape: tuple[int, int]) -> SlidingMoves | TicTacToeMoves:
    """Return the moves of a game, by the name of its rules, or "tictactoe"."""
    return TicTacToeMoves() if game == TICTACTOE else SlidingMoves(game, shape)


class Pairs(nn.Linear):
    """A convolution of 1×2 or 2×1: one matrix product, twice as fast here as `Conv2d`.

    Args:
        channels: Those of the input.
        width: Those of the output.
        dim: Along which the pairs lie: 1 for a cell and the one below, 2 for it and the one right.
    """

    def __init__(self, channels: int, width: int, dim: int) -> None:
        super().__init__(2 * channels, width)
        self.dim = dim

    def forward(self, cells: Tensor) -> Tensor:
        """Return `(n, …, width)`, one fewer along the dimension, of cells `(n, R, C, channels)`."""
        n = cells.shape[self.dim] - 1
        pairs = cells.narrow(self.dim, 0, n), cells.narrow(self.dim, 1, n)
        return super().forward(torch.cat(pairs, -1))


class Branches(nn.Module):
    """Convolutions over pairs of neighbouring cells, then over pairs of those.

    Kernels of 1×2 and 2×1 see exactly what may merge.  Every branch of the first layer is followed
    by both kernels again, and what any of them sees goes on to the end.

    Args:
        planes: Planes of the input.
        shape: Rows and columns.
        width: Channels of each branch.
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
    """Return the dimensions along which a board has pairs, and the shapes that they leave."""
    left = ((1, (shape[0] - 1, shape[1])), (2, (shape[0], shape[1] - 1)))
    return [(dim, seen) for dim, seen in left if min(seen) > 0]


class BoardNetwork(nn.Module):
    """Values of boards from tile indices.

    Args:
        moves: The game.
        shape: Rows and columns.
        width: Channels of each branch of convolutions.
        hidden: Widths of the layers after them.
        outputs: How many values a board has.
        bfloat16: Whether all layers but the last compute in this half precision.
    """

    def __init__(
        self,
        moves: SlidingMoves | TicTacToeMoves,
        shape: tuple[int, int],
        width: int,
        hidden: Sequence[int],
        outputs: int,
        bfloat16: bool,
    ) -> None:
        super().__init__()
        self._moves = [moves]  # in a list, it is not registered a second time
        self._bfloat16 = bfloat16
        branches = Branches(moves.planes, shape, width)
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
            seen = self.layers(self._moves[0].planes_of(boards))
        values: Tensor = self.last(seen.float())
        return values


def symmetric_images(boards: Tensor) -> Tensor:
    """Return each board `(n, R, C)` as seen from a side drawn at random."""
    drawn = torch.rand(3, len(boards), 1, 1, device=boards.device) < 0.5
    boards = torch.where(drawn[0], boards.flip(1), boards)
    boards = torch.where(drawn[1], boards.flip(2), boards)
    if boards.shape[1] == boards.shape[2]:
        boards = torch.where(drawn[2], boards.transpose(1, 2), boards)
    return boards


def shape_of(space: spaces.Space[Any]) -> tuple[int, int]:
    """Return rows and columns of the boards of an observation space.

    Raises:
        ValueError: If these are no boards.
    """
    shape = space.shape
    if not isinstance(space, spaces.Box) or shape is None or len(shape) != 2:
        raise ValueError(
            f"the network takes boards as the environments of tile_envs give them, "
            f"(rows, columns), got {space}: leave out wrappers that change observations."
        )
    return shape[0], shape[1]
