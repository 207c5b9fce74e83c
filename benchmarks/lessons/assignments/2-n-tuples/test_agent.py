"""Tests of your network: python test_agent.py my_network.py."""

import runpy
import sys
import unittest
from pathlib import Path

import gymnasium as gym
import numpy as np

import tile_envs  # noqa: F401 # registers the games
from baselines.evaluation.confined import STRATEGY, is_agent

ENV, OPTIONS = "Tiles2048-v0", {"shape": (3, 3)}
OPTIMUM, MARK, GAMES = 5468.49, 0.7, 300


class TestNetwork(unittest.TestCase):
    """What is asked of a network."""

    file = Path(__file__).with_name("template.py")

    @classmethod
    def setUpClass(cls):
        """Make the network of the file, and afterstates of random games."""
        found = filter(is_agent, runpy.run_path(cls.file, run_name=STRATEGY).values())
        kinds = [kind for kind in found if hasattr(kind, "afterstate_values")]
        if len(kinds) != 1:
            names = ", ".join(kind.__name__ for kind in kinds) or "none"
            sys.exit(f"{cls.file} must define one class that has afterstate_values, got {names}.")
        cls.game = gym.make(ENV, **OPTIONS).unwrapped.game
        cls.network = kinds[0](cls.game, 0)
        envs = gym.make_vec(ENV, num_envs=50, **OPTIONS)
        boards, _ = envs.reset(seed=0)
        for _ in range(20):
            boards, *_ = envs.step(envs.sample_legal_actions())
        afterstates, _, masks = cls.game.afterstates(boards)
        cls.afterstates = afterstates[masks > 0]

    def values(self, boards):
        """Return the values of the network."""
        return np.asarray(self.network.afterstate_values(boards), np.float64)

    def test_it_returns_a_finite_number_for_each_afterstate(self):
        """Of one board, too."""
        for n in (1, 2, len(self.afterstates)):
            values = self.values(self.afterstates[:n])
            self.assertEqual(values.shape, (n,))
            self.assertTrue(np.isfinite(values).all(), "a value is NaN or infinite")

    def test_its_values_depend_on_the_board_alone(self):
        """Neither on chance, nor on the other boards."""
        backwards = self.values(self.afterstates[::-1])[::-1]
        np.testing.assert_allclose(self.values(self.afterstates), backwards, rtol=1e-5)

    def test_its_greedy_play_reaches_the_mark(self):
        """The template does not."""
        state, scores = self.game.begin(range(GAMES)), np.zeros(GAMES)
        while not state.over.all():
            after, rewards, masks = self.game.afterstates(self.game.position(state)["board"])
            legal, q = masks > 0, np.full(masks.shape, -np.inf)
            q[legal] = rewards[legal] + self.values(after[legal])
            state, step = self.game.step(state, q.argmax(axis=1))
            scores += step.rewards
        self.assertGreaterEqual(scores.mean() / OPTIMUM, MARK)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].endswith(".py"):
        TestNetwork.file = Path(sys.argv.pop(1))
    unittest.main()
