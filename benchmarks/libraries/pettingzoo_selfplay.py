"""Trains two tables of Q-learning in PettingZoo's tic-tac-toe, one for each agent, by self-play.

    python benchmarks/libraries/pettingzoo_selfplay.py

Each then meets random play in its seat.
"""

from collections import defaultdict

import numpy as np

from tile_envs.agents import ask
from tile_envs.plug import pettingzoo as tictactoe

EPSILON, LEARNING_RATE = 0.3, 0.1


class QTable:
    """An agent's action values; its next board is the one after the other's reply."""

    def __init__(self, seed):
        self.values = defaultdict(lambda: np.zeros(9))
        self.rng = np.random.default_rng(seed)
        self.last = None

    def predict(self, observation, action_masks):
        """Return the best legal action of each board `(n, 3, 3)`."""
        values = [self.values[board.tobytes()] for board in observation]
        return np.where(action_masks, values, -np.inf).argmax(axis=1)

    def explore(self, board, mask):
        """Return an action to learn from."""
        explores = self.rng.random() < EPSILON
        best = int(self.predict(board[None], mask[None])[0])
        action = int(self.rng.choice(np.flatnonzero(mask))) if explores else best
        self.last = board.tobytes(), action
        return action

    def learn(self, reward, board, mask):
        """Learn what followed the last action: a reward, and the next board."""
        if self.last:
            following = self.values[board.tobytes()][mask > 0].max() if mask.any() else 0.0
            values, action = self.values[self.last[0]], self.last[1]
            values[action] += LEARNING_RATE * (reward + following - values[action])
            self.last = None


def train(episodes=100_000, seed=0):
    env = tictactoe.env()
    tables = {name: QTable(seed + n) for n, name in enumerate(env.possible_agents)}
    for _ in range(episodes):
        env.reset()
        for name in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            board, mask = observation["observation"], observation["action_mask"]
            tables[name].learn(reward, board, mask)
            over = terminated or truncated
            env.step(None if over else tables[name].explore(board, mask))
    return tables


def results(agents, seat, episodes, seed=1):
    """Return the results of a seat, `(episodes,)`; seats without an agent play at random."""
    env, rng, returns = tictactoe.env(), np.random.default_rng(seed), np.zeros(episodes)
    for episode in range(episodes):
        env.reset()
        for name in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            board, mask = observation["observation"], observation["action_mask"]
            returns[episode] += reward * (name == seat)
            if terminated or truncated:
                action = None
            elif name in agents:
                action = int(ask(agents[name], board[None], mask[None])[0][0])
            else:
                action = int(rng.choice(np.flatnonzero(mask)))
            env.step(action)
    return returns


if __name__ == "__main__":
    for seat, table in train(10_000).items():
        print(seat, results({seat: table}, seat, 1_000).mean())
