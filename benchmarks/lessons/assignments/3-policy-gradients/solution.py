"""A solution: an actor and a critic in tables, which learn from games side by side."""

import time

import numpy as np


class ActorCritic:
    """π(a | s) is the softmax of preferences θ(s, a), and V(s) the critic.

    After each move of all games, δ = r + V(s') - V(s) moves V(s) by a fraction, and θ(s, a) by
    β (δ - τ log π(a | s)).  States come as often as the policy visits them, and actions as often as
    it draws them, so on average this climbs d(s) π(a | s) A(s, a), the policy gradient.  The second
    part is an entropy bonus, which falls to 0: without it the policy is sure too early.  Images
    share their entries.
    """

    SECONDS, GAMES, RATE, BONUS = 45, 1024, 0.01, 60.0

    def __init__(self, game, seed):
        self.game, (self.cells, self.actions) = game, game.symmetries
        self.powers = game.n_values ** np.arange(6)
        size = game.n_values**6
        self.theta, self.V, self.visits = np.zeros((size, 4)), np.zeros(size), np.zeros(size)
        self.learn(np.random.default_rng(seed), time.monotonic() + self.SECONDS)

    def look(self, boards):
        """Return the number of each board, and the names that its actions have there, `(n, 4)`."""
        numbers = boards.reshape(len(boards), -1)[:, self.cells] @ self.powers
        image = numbers.argmin(axis=1)
        return numbers[np.arange(len(boards)), image], self.actions[image]

    def action_probabilities(self, boards):
        """Return π of boards `(n, 2, 3)`: `(n, 4)`."""
        numbers, names = self.look(boards)
        return self.policy(numbers, names, self.game.legal_actions(boards) > 0)

    def policy(self, numbers, names, legal):
        """Return π, given the numbers of boards, the names of actions, and which are legal."""
        theta = np.where(legal, self.theta[numbers[:, None], names], -np.inf)
        weights = np.exp(theta - theta.max(axis=1, keepdims=True, where=legal, initial=-1e9))
        return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)

    def learn(self, rng, end):
        """Draw moves from the policy in many games at once, and learn from each, until `end`."""
        n, game, begin = self.GAMES, self.game, time.monotonic()
        state = game.begin(rng.integers(2**63, size=n))
        boards = game.position(state)["board"]
        while (now := time.monotonic()) < end:
            numbers, names = self.look(boards)
            legal = game.legal_actions(boards) > 0
            pi = self.policy(numbers, names, legal)
            drawn = rng.random((n, 1)) * pi.sum(axis=1, keepdims=True)
            moves = (pi.cumsum(axis=1) > drawn).argmax(axis=1)
            state, step = game.step(state, moves)
            following = self.V[self.look(step.observations)[0]] * ~state.over
            delta = step.rewards + following - self.V[numbers]
            self.visits[numbers] += 1
            self.V[numbers] += delta / np.maximum(self.visits[numbers], 1) ** 0.5
            left = 1 - (now - begin) / (end - begin)
            delta -= self.BONUS * left * np.log(np.maximum(pi[np.arange(n), moves], 1e-9))
            self.theta[numbers, names[np.arange(n), moves]] += self.RATE * left * delta
            boards = step.observations
            if state.over.any():  # new games take the places of those that have ended
                over = state.over.copy()
                new = game.begin(rng.integers(2**63, size=int(over.sum())))
                for old, fresh in zip(state, new, strict=True):
                    old[over] = fresh
                boards = game.position(state)["board"]
