"""Tests of your policy: python test_agent.py my_policy.py."""

import runpy
import sys
import unittest
from pathlib import Path

import gymnasium as gym
import numpy as np

import tile_envs  # noqa: F401 # registers the games
from baselines import evaluate_exactly
from baselines.evaluation.confined import STRATEGY, is_agent

ENV, OPTIONS, MARK = "Tiles2048-v0", {"shape": (2, 3)}, 0.55


class TestPolicy(unittest.TestCase):
    """What is asked of a policy."""

    file = Path(__file__).with_name("template.py")

    @classmethod
    def setUpClass(cls):
        """Make the policy of the file, and boards of random games on which a move is left."""
        found = filter(is_agent, runpy.run_path(cls.file, run_name=STRATEGY).values())
        kinds = [kind for kind in found if hasattr(kind, "action_probabilities")]
        if len(kinds) != 1:
            names = ", ".join(kind.__name__ for kind in kinds) or "none"
            sys.exit(f"{cls.file} must define one class with action_probabilities, got {names}.")
        cls.policy = kinds[0](gym.make(ENV, **OPTIONS).unwrapped.game, 0)
        envs = gym.make_vec(ENV, num_envs=50, **OPTIONS)
        boards, infos = envs.reset(seed=0)
        for _ in range(8):
            boards, *_, infos = envs.step(envs.sample_legal_actions())
        going_on = infos["action_mask"].any(axis=1)
        cls.boards, cls.masks = boards[going_on], infos["action_mask"][going_on]

    def probabilities(self, boards):
        """Return the probabilities of the policy."""
        return np.asarray(self.policy.action_probabilities(boards), np.float64)

    def test_it_returns_probabilities_of_legal_actions(self):
        """Of one board, too."""
        for n in (1, 2, len(self.boards)):
            chances = self.probabilities(self.boards[:n])
            self.assertEqual(chances.shape, (n, 4))
            np.testing.assert_allclose(chances.sum(axis=1), 1.0)
            self.assertTrue((chances >= 0).all(), "a probability is negative")
            self.assertFalse(chances[self.masks[:n] == 0].any(), "an illegal action is likely")

    def test_they_depend_on_the_board_alone(self):
        """Neither on chance, nor on the other boards."""
        backwards = self.probabilities(self.boards[::-1])[::-1]
        np.testing.assert_allclose(self.probabilities(self.boards), backwards)

    def test_the_policy_reaches_the_mark(self):
        """The template does not."""
        self.assertGreaterEqual(evaluate_exactly(self.policy, ENV, OPTIONS)["share"], MARK)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].endswith(".py"):
        TestPolicy.file = Path(sys.argv.pop(1))
    unittest.main()
