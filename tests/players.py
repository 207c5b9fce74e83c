"""Agents that play simply, are interrupted, or end their process."""

import numpy as np

from baselines.agents import RandomAgent


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
