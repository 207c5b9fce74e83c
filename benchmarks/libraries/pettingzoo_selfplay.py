"""Trains two tables of Q-learning in PettingZoo's tic-tac-toe, one for each agent, by self-play.

The table of the first agent then plays `TicTacToe-v0`, against random play.
"""

from collections import defaultdict

import numpy as np

from baselines import evaluate
from tile_envs.plug import pettingzoo as tictactoe

EPSILON, LEARNING_RATE = 0.3, 0.1


class QTable:
    def __init__(self, seed):
        self.values = defaultdict(lambda: np.zeros(9))
        self.rng = np.random.default_rng(seed)
        self.last = None

    def predict(self, observation, action_masks):
        values = [self.values[board.tobytes()] for board in observation]
        return np.where(action_masks, values, -np.inf).argmax(axis=1)

    def explore(self, board, mask):
        explores = self.rng.random() < EPSILON
        best = self.predict(board[None], mask[None])[0]
        action = self.rng.choice(np.flatnonzero(mask)) if explores else best
        self.last = self.values[board.tobytes()], action
        return int(action)

    def learn(self, reward, board, mask):  # after the other agent's reply, or the end
        if self.last:
            following = self.values[board.tobytes()][mask > 0].max() if mask.any() else 0.0
            values, action = self.last
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


if __name__ == "__main__":
    print(evaluate(train(10_000)["player_1"], "TicTacToe-v0")["mean"])
