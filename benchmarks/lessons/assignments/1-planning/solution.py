"""A solution: the exact values of all afterstates, by value iteration."""

import numpy as np


class Planner:
    """Plays the action with the highest reward plus value of the afterstate.

    V(s') = Σ over the states s that may follow s' of P(s) max_a (r + V(s'_next)), where a state
    without a legal action counts 0.  A move keeps the sum of the tiles and a new tile raises it, so
    one sweep from the largest sum down is enough.  Images of a board share one value.
    """

    def __init__(self, game, seed):
        self.game = game
        n_cells = game.shape[0] * game.shape[1]
        self.powers = game.n_values ** np.arange(n_cells)
        self.values = np.zeros(game.n_values**n_cells)
        afterstates = self.reachable()
        sums = np.array(game.rules.faces)[afterstates].sum(axis=(1, 2))
        for each in np.unique(sums)[::-1]:
            layer = afterstates[sums == each]
            self.values[self.keys(layer)] = self.expected(layer)

    def reachable(self):
        """Return all afterstates that games can reach, `(n, R, C)`, one of each set of images."""
        empty = np.zeros((1, *self.game.shape), np.uint8)
        boards = self.game.replies(self.game.replies(empty).boards).boards  # two tiles
        known, found = np.zeros(len(self.values), bool), []
        while len(boards):
            afterstates, _, masks = self.game.afterstates(boards)
            afterstates = afterstates[masks > 0]
            keys, first = np.unique(self.keys(afterstates), return_index=True)
            found.append(afterstates[first[~known[keys]]])
            known[keys] = True
            boards = self.game.replies(found[-1]).boards
        return np.concatenate(found)

    def expected(self, afterstates):
        """Return the expected value of the states that follow afterstates, `(n,)`."""
        parents, boards, probabilities = self.game.replies(afterstates)
        best = self.action_values(boards).max(axis=1)
        best[np.isneginf(best)] = 0.0  # the game is over
        return np.bincount(parents, probabilities * best, len(afterstates))

    def keys(self, boards):
        """Return a number for each board `(n, R, C)`, the same for all of its images: `(n,)`."""
        cells = boards.reshape(-1, len(self.powers))  # of no boards, too
        return (cells[:, self.game.symmetries.cells] @ self.powers).min(axis=1)

    def action_values(self, boards):
        """Return r + V(s') of each action, minus infinity for illegal ones: `(n, 4)`."""
        afterstates, rewards, masks = self.game.afterstates(boards)
        keys = self.keys(afterstates.reshape(-1, *boards.shape[1:])).reshape(masks.shape)
        return np.where(masks, rewards + self.values[keys], -np.inf)

    def predict(self, boards):
        """Return the best action of each board, `(n,)`."""
        return self.action_values(boards).argmax(axis=1)
