"""Tests of your agent: python test_agent.py my_agent.py."""

import runpy
import sys
import unittest
from pathlib import Path

import gymnasium as gym
import numpy as np

import tile_envs  # noqa: F401 # registers the games
from baselines import evaluate_exactly
from baselines.evaluation.confined import STRATEGY, is_agent
from tile_envs.agents import choose_actions

ENV, OPTIONS = "Tiles2048-v0", {"shape": (2, 3)}


def random_boards():
    """Return boards of random games on which a move is left, and their masks."""
    envs = gym.make_vec(ENV, num_envs=50, **OPTIONS)
    observations, infos = envs.reset(seed=0)
    boards, masks = [], []
    for _ in range(20):
        boards.append(observations)
        masks.append(infos["action_mask"])
        observations, *_, infos = envs.step(envs.sample_legal_actions())
    boards, masks = np.concatenate(boards), np.concatenate(masks)
    going_on = masks.any(axis=1)
    return boards[going_on], masks[going_on]


class TestAgent(unittest.TestCase):
    """What is asked of an agent."""

    file = Path(__file__).with_name("template.py")

    @classmethod
    def setUpClass(cls):
        """Make the agent of the file."""
        kinds = [*filter(is_agent, runpy.run_path(cls.file, run_name=STRATEGY).values())]
        if len(kinds) != 1:
            names = ", ".join(kind.__name__ for kind in kinds) or "none"
            sys.exit(f"{cls.file} must define one class that has predict, got {names}.")
        cls.agent = kinds[0](gym.make(ENV, **OPTIONS).unwrapped.game, 0)
        cls.boards, cls.masks = random_boards()

    def actions(self, which):
        """Return the actions of the agent on some of the boards."""
        return choose_actions(self.agent, self.boards[which], self.masks[which])[0]

    def test_it_returns_an_integer_from_0_to_3_for_each_board(self):
        """Of one board, too: an error says what it returns instead."""
        for n in (1, 2, len(self.boards)):
            self.actions(slice(n))

    def test_it_plays_legal_actions(self):
        """The message shows a board on which it does not."""
        actions = self.actions(slice(None))
        for board, mask, action in zip(self.boards, self.masks, actions, strict=True):
            self.assertIn(action, np.flatnonzero(mask), board)

    def test_its_actions_depend_on_the_board_alone(self):
        """Neither on chance, nor on the other boards."""
        backwards = self.actions(slice(None, None, -1))[::-1]
        self.assertEqual(self.actions(slice(None)).tolist(), backwards.tolist())

    def test_it_reaches_95_percent_of_the_optimum(self):
        """The template does not."""
        self.assertGreaterEqual(evaluate_exactly(self.agent, ENV, OPTIONS)["share"], 0.95)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].endswith(".py"):
        TestAgent.file = Path(sys.argv.pop(1))
    unittest.main()
