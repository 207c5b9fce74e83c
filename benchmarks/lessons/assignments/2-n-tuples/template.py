"""Your network: copy this file, and make the class better."""

import numpy as np


class Network:
    """Values every afterstate by its number of empty cells.

    Args:
        game: The rules: `afterstates(boards)`, `replies(afterstates)`, `legal_actions(boards)`,
            `begin(seeds)` and `step(state, actions)`, all for many boards at once.
        seed: The seed of your own random numbers.
    """

    def __init__(self, game, seed):
        self.game = game  # here you learn, or load what you have learned

    def afterstate_values(self, boards):
        """Return the score to expect after each afterstate.

        Args:
            boards: `(n, 3, 3) uint8`: 0 is an empty cell, and index k the tile 2^k.

        Returns:
            `(n,)` numbers, V(s').  The move with the highest r + V(s') is played.
        """
        return np.count_nonzero(boards == 0, axis=(1, 2)) * 8.0
