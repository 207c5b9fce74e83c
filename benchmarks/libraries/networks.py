"""A network on boards of 2048, for libraries that take torch's, and how it plays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

CELLS, TILES = 16, 18
"""Cells of a board, and its tile indices with that of the empty cell."""


class BoardNetwork(nn.Sequential):
    """A network of two hidden layers over boards `(..., 4, 4)` of tile indices.

    Args:
        outputs: The number of outputs.
        width: Of the hidden layers.
    """

    def __init__(self, outputs: int, width: int = 256) -> None:
        hidden: list[nn.Module] = []
        for inputs, units in pairwise((CELLS * TILES, width, width)):
            hidden += [nn.Linear(inputs, units), nn.ReLU()]
        super().__init__(*hidden, nn.Linear(width, outputs))

    def forward(self, boards: Any) -> Tensor:
        """Return the outputs `(..., outputs)` of boards, which may also be an array."""
        planes = functional.one_hot(torch.as_tensor(boards).long(), TILES)
        outputs: Tensor = super().forward(planes.flatten(-3).float())
        return outputs


class Preferring:
    """Plays the legal action for which a network's output is highest.

    Args:
        network: A network over boards with an output for each action.
    """

    def __init__(self, network: nn.Module) -> None:
        self._network = network

    def predict(
        self, observation: NDArray[Any], action_masks: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return an action for each board `(n, 4, 4)`."""
        with torch.no_grad():
            outputs = self._network(observation).numpy()
        actions: NDArray[np.int64] = np.where(action_masks, outputs, -np.inf).argmax(axis=1)
        return actions


class ActionValues(nn.Module):
    """A network as Tianshou's DQN takes it, which finds the mask itself."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self._network = network

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Return the action values of boards."""
        return self._network(obs), state


class MaskedActor(nn.Module):
    """A network as Tianshou's PPO takes it, which knows no masks."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self._network = network

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Return the logits of boards, minus infinity for illegal actions."""
        logits: Tensor = self._network(obs.obs)
        return logits.masked_fill(torch.as_tensor(obs.mask) == 0, -torch.inf), state


class Critic(nn.Module):
    """A network as Tianshou's PPO takes it, for the values of states."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self._network = network

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> Tensor:
        """Return the values of boards."""
        values: Tensor = self._network(obs.obs)
        return values
