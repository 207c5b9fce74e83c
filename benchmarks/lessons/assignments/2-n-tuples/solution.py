"""A solution: an n-tuple network that learns by temporal coherence from games side by side."""

import time

import numpy as np


class Network:
    """V(s') is a sum of entries, one for each tuple in each of the eight images of a board.

    After each move of all games, the entries of the last afterstates change by a mean of their
    errors δ = r + V(s'_next) - V(s'), each at a rate of its own, |E| / A (temporal coherence: Beal
    and Smith, 1999), where E sums up its errors and A their sizes.
    """

    TUPLES = ((0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 6), (0, 1, 2, 4, 5, 8), (0, 1, 3, 4, 5, 7))
    SECONDS, GAMES = 50, 256

    def __init__(self, game, seed):
        self.game = game
        images = game.symmetries.cells
        self.cells = np.concatenate([images[:, cells] for cells in self.TUPLES])  # (m, 6)
        self.powers = game.n_values ** np.arange(6)
        size = game.n_values**6
        self.begins = np.repeat(np.arange(len(self.TUPLES)), len(images)) * size
        self.weights, self.errors, self.sizes = np.zeros((3, len(self.TUPLES) * size), np.float32)
        self.learn(np.random.default_rng(seed), time.monotonic() + self.SECONDS)

    def entries(self, boards):
        """Return the numbers of the entries of boards `(n, 3, 3)`: `(n, m)`."""
        tiles = boards.reshape(len(boards), -1).astype(np.int64)
        return tiles[:, self.cells] @ self.powers + self.begins

    def afterstate_values(self, boards):
        """Return V of afterstates, `(n,)`."""
        return self.weights[self.entries(boards)].sum(axis=1)

    def learn(self, rng, end):
        """Play the best moves so far in many games at once, and learn from each, until `end`."""
        n, m, game = self.GAMES, len(self.cells), self.game
        state, last = game.begin(rng.integers(2**63, size=n)), None
        while time.monotonic() < end:
            boards = game.position(state)["board"]
            after, rewards, masks = game.afterstates(boards)
            q = np.full(masks.shape, -np.inf, np.float32)
            legal = masks > 0
            q[legal] = rewards[legal] + self.afterstate_values(after[legal])
            moves, over = q.argmax(axis=1), ~legal.any(axis=1)
            target = np.where(over, 0, q.max(axis=1))
            if last is not None:
                entries, values, is_first = last
                self.update(entries[~is_first], (target - values)[~is_first] / m)
            chosen = after[np.arange(n), moves]
            entries = self.entries(chosen)
            last = entries, self.weights[entries].sum(axis=1), over
            state, _ = game.step(state, moves)
            if over.any():  # new games take the places of those that have ended
                state = self.renewed(state, over, rng)

    def renewed(self, state, over, rng):
        """Return the state with new games where games are over."""
        new = self.game.begin(rng.integers(2**63, size=int(over.sum())))
        for old, fresh in zip(state, new, strict=True):
            old[over] = fresh
        return state

    def update(self, entries, deltas):
        """Change each entry by the mean of its errors, at its own rate."""
        numbers, places, counts = np.unique(entries, return_inverse=True, return_counts=True)
        error = np.bincount(places.ravel(), np.repeat(deltas, entries.shape[1])) / counts
        size = self.sizes[numbers]
        rate = np.where(size > 0, abs(self.errors[numbers]) / np.maximum(size, 1e-9), 1)
        self.weights[numbers] += rate * error
        self.errors[numbers] += error
        self.sizes[numbers] += abs(error)
