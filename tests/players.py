"""Agents that play simply, are interrupted, or end their process; and boards from random play."""

import numpy as np

from baselines.agents import RandomAgent, ValueAgent
from tile_envs.games import vector_env


def boards_from_play(game, n=200):
    """Return boards after sixty moves at random."""
    envs = vector_env(game, n)
    boards, _ = envs.reset(seed=3)
    envs.action_space.seed(3)
    for _ in range(60):
        boards, *_ = envs.step(envs.sample_legal_actions())
    return boards


class Weighing(ValueAgent):
    """Values an afterstate by weights of tiles on cells; it plays boards of any shape."""

    def __init__(self, game):
        self.game = game

    def action_values(self, observations):
        assert len(observations), "which such an agent need not be able to value"
        after, rewards, masks = self.game.afterstates(observations)
        weights = np.random.default_rng(1).random(self.game.shape)
        return np.where(masks, rewards + (after * weights).sum(axis=(2, 3)), -np.inf)


class FirstLegal:
    """Plays the first legal action."""

    def __init__(self, game=None, seed=0):
        self.game = game

    def predict(self, observation, action_masks):
        return action_masks.argmax(axis=1)


LOWEST = FirstLegal()
FIRST_LEGAL = """
import numpy as np

def strategy(board):
    for action, turns in enumerate((1, 2, 3, 0)):  # a board turned so, and pushed to the left
        for row in np.rot90(board, turns):
            tiles = row[row > 0]
            if (row[: len(tiles)] != tiles).any() or (tiles[1:] == tiles[:-1]).any():
                return action
"""
"""The same of sliding games, as a written strategy."""


class Wavering:
    """Plays the first legal action, and rarely the last."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def predict(self, observation, action_masks):
        last = action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)
        rarely = self.rng.random(len(last)) < 0.01
        return np.where(rarely, last, action_masks.argmax(axis=1))


class Stubborn:
    """Answers every observation with the same number."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return np.full(len(observation), self.answer), state


class Interrupting:
    """Plays at random, and is interrupted at its n-th move."""

    def __init__(self, game, n):
        self.agent, self.rest = RandomAgent(game), n

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        self.rest -= 1
        if not self.rest:
            raise KeyboardInterrupt
        return self.agent.predict(observation, state)


class Script:
    """A screen with a person who presses given keys, None meaning that time passes."""

    def __init__(self, *keys):
        self.keys = list(keys)
        self.views, self.texts = [], []

    def draw(self, view):
        self.views.append(view)
        self.texts.append(view.text(colors=False))
        assert "\x1b[48;2;" in view.text(colors=True)

    def key(self, timeout=None):
        key = self.keys.pop(0)
        assert key is not None or timeout is not None, "time passes only while a replay runs"
        return key
