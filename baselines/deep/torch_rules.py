"""The rules of the games as tensors: legal actions, afterstates and rewards of many boards.

The rules are looked up in the tables of the environments, so that a network needs nothing but
observations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tile_envs.base.checks import brief
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding import SlidingGame
from tile_envs.sliding.env import VERTICAL
from tile_envs.sliding.rules import ACTIONS, MAX_SIDE
from tile_envs.sliding.tables import (
    CELL_BITS,
    CELL_MASK,
    LINE_MASK,
    REWARD_MASK,
    REWARD_SHIFT,
)
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import CELLS, SIDE, WINNING_LINES


class SlidingMoves(nn.Module):
    """What each action makes of boards of a sliding game.

    Args:
        game: The game.

    Attributes:
        shape: Rows and columns.
        planes: Number of one-hot planes, one for each tile index.
    """

    pushed: Tensor
    offsets: Tensor
    shifts: Tensor

    def __init__(self, game: SlidingGame) -> None:
        super().__init__()
        self._keep("pushed", game.tables.pushed)
        self._keep("offsets", game.tables.offsets)
        self._keep("shifts", CELL_BITS * np.arange(MAX_SIDE))
        self.shape = game.shape
        self.planes = game.rules.largest + 1

    def forward(self, boards: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Look up all actions.

        Args:
            boards: `(n, R, C)` tile indices of any dtype.

        Returns:
            The afterstates `(n, 4, R, C) int64`, the rewards `(n, 4) float32`, and the action masks
            `(n, 4) bool`.
        """
        n_rows, n_columns = self.shape
        cells = boards.long()
        rows = (cells << self.shifts[:n_columns]).sum(dim=2)
        columns = (cells << self.shifts[:n_rows, None]).sum(dim=1)
        after, rewards, legal = [], [], []
        for action in range(len(ACTIONS)):
            is_vertical = action in VERTICAL
            lines = columns if is_vertical else rows
            entries = self.pushed[self.offsets[action] + lines]
            pushed = entries & LINE_MASK
            length = n_rows if is_vertical else n_columns
            tiles = pushed[:, :, None] >> self.shifts[:length] & CELL_MASK
            after.append(tiles.transpose(1, 2) if is_vertical else tiles)
            rewards.append((entries >> REWARD_SHIFT & REWARD_MASK).sum(dim=1))
            legal.append((pushed != lines).any(dim=1))
        return torch.stack(after, 1), torch.stack(rewards, 1).float(), torch.stack(legal, 1)

    def ended(self, afterstates: Tensor) -> Tensor:
        """Return which afterstates `(n, R, C)` end the game: none, a new tile follows each."""
        return torch.zeros(len(afterstates), dtype=torch.bool, device=afterstates.device)

    def planes_of(self, boards: Tensor) -> Tensor:
        """Return one-hot planes `(n, R, C, planes)`, the first one for the empty cells."""
        return nn.functional.one_hot(boards.long(), self.planes).float()

    def _keep(self, name: str, array: NDArray[Any]) -> None:
        # Not persistent: a saved model holds its rules as text instead of tables of 16 MiB.
        self.register_buffer(name, torch.tensor(array), persistent=False)


class TicTacToeMoves(nn.Module):
    """What each action makes of positions of tic-tac-toe, as the player to move sees them.

    Attributes:
        shape: Rows and columns.
        planes: Number of one-hot planes: own marks and the other player's.
    """

    lines: Tensor
    marks: Tensor
    shape = (SIDE, SIDE)
    planes = 2

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("lines", torch.tensor(WINNING_LINES), persistent=False)
        self.register_buffer("marks", torch.eye(CELLS, dtype=torch.int64), persistent=False)

    def forward(self, boards: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Look up all actions.

        Args:
            boards: `(n, 3, 3)`, own marks 1, the other player's -1.

        Returns:
            The afterstates `(n, 9, 3, 3) int64`, the rewards `(n, 9) float32`, 1 for three in a
            row, and the action masks `(n, 9) bool`, all False once the game is over.
        """
        cells = boards.long().flatten(1)
        after = cells[:, None] + self.marks
        wins = self._wins(after)
        is_over = self._wins(cells) | self._wins(-cells)
        legal = (cells == 0) & ~is_over[:, None]
        return after.reshape(len(boards), CELLS, *boards.shape[1:]), wins.float(), legal

    def ended(self, afterstates: Tensor) -> Tensor:
        """Return which afterstates `(n, 3, 3)` end the game, by a win or on a full board."""
        cells = afterstates.flatten(1)
        return self._wins(cells) | (cells != 0).all(dim=1)

    def planes_of(self, boards: Tensor) -> Tensor:
        """Return a plane of own marks and one of the other player's, `(n, 3, 3, 2)`."""
        return torch.stack((boards == 1, boards == -1), -1).float()

    def _wins(self, cells: Tensor) -> Tensor:
        """Return where own marks `(…, 9)` are three in a row."""
        return (cells[..., self.lines].sum(dim=-1) == len(self.lines[0])).any(dim=-1)


Moves = SlidingMoves | TicTacToeMoves


def moves_of(game: Game) -> Moves:
    """Return the moves of a game.

    Raises:
        ValueError: If it is none of this package.
    """
    if isinstance(game, SlidingGame):
        return SlidingMoves(game)
    if isinstance(game, TicTacToe):
        return TicTacToeMoves()
    raise UsageError(f"networks play the games of tile_envs, got {brief(game)}.")


def rules_of(game: Game) -> str:
    """Return what moves depend on, the rules and the board, as JSON text of a game.

    Models are saved with this text.  The spawn distribution and the opponent are not part of it, so
    a model can be trained on against others, such as opponents without a name.
    """
    if isinstance(game, SlidingGame):
        return SlidingGame(game.rules, game.shape).to_json()
    return TicTacToe().to_json()
