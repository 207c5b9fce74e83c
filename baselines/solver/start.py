"""All boards that a sliding game may start with, and their probabilities.

Start tiles are placed uniformly, whatever the placer of the tiles that appear later.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.placer import RANDOM

Boards = NDArray[np.uint8]
Mass = NDArray[np.float64]


def start_boards(game: SlidingGame) -> tuple[Boards, Mass]:
    """Return the different start boards `(n, R, C)` of a game, and their probabilities `(n,)`."""
    boards, mass = np.zeros((1, *game.shape), np.uint8), np.ones(1)
    for fixed in game.start.tiles:
        spawn = ((game.rules.faces[fixed], 1.0),) if fixed else game.spawn
        parents, boards, probabilities = dataclasses.replace(
            game, spawn=spawn, placer=RANDOM
        ).replies(boards)
        boards, mass = merged(boards, mass[parents] * probabilities)
    return boards, mass


def merged(boards: Boards, mass: Mass) -> tuple[Boards, Mass]:
    """Return the different boards among boards `(n, R, C)`, and the sum of the mass of each."""
    cells = boards.shape[1] * boards.shape[2]
    weights = np.uint64(32) ** np.arange(cells, dtype=np.uint64)
    numbers = boards.reshape(len(boards), cells) @ weights
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    summed: Mass = np.bincount(which, mass, len(first)).astype(np.float64)
    return boards[first], summed
