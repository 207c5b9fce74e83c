"""Your policy: copy this file, and make the class better."""


class Policy:
    """Draws a legal action, each with the same probability.

    Args:
        game: The rules: `afterstates(boards)`, `replies(afterstates)`, `legal_actions(boards)`,
            `begin(seeds)` and `step(state, actions)`, all for many boards at once.
        seed: The seed of your own random numbers.
    """

    def __init__(self, game, seed):
        self.game = game  # here you learn

    def action_probabilities(self, boards):
        """Return the probability of each action.

        Args:
            boards: `(n, 2, 3) uint8`: 0 is an empty cell, and index k the tile 2^k.

        Returns:
            `(n, 4)` numbers, in rows that sum up to 1: 0 up, 1 right, 2 down, 3 left.
        """
        legal = self.game.legal_actions(boards)  # (n, 4), 1 for a legal action
        return legal / legal.sum(axis=1, keepdims=True)
