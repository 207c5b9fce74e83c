"""Agents that play simply, are interrupted, or end their process."""

from types import SimpleNamespace

import numpy as np

from baselines.agents import RandomAgent

LOWEST = SimpleNamespace(predict=lambda observation, action_masks: action_masks.argmax(axis=1))
"""Plays the first legal action."""


class Scripted:
    """Plays the first legal action; its `predict` takes observations, and no more."""

    def __init__(self, game, seed=0):
        self.game = game

    def predict(self, observation):
        return self.game.legal_actions(observation).argmax(axis=1)


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
