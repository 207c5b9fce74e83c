"""Trains a table by Q-learning in PettingZoo's tic-tac-toe, by self-play of its two agents.

Each agent sees its own marks as 1, so the table knows whose move it is and serves both.
"""

from collections import defaultdict

import numpy as np

from baselines import evaluate
from tile_envs.plug import pettingzoo as tictactoe

EPSILON, LEARNING_RATE = 0.3, 0.1


class QTable(defaultdict):
    """Action values of each board, by its bytes."""

    def predict(self, observation, action_masks):
        values = [self[board.tobytes()] for board in observation]
        return np.where(action_masks, values, -np.inf).argmax(axis=1)


def train(env_id="TicTacToe-v0", seed=0, games=100_000):
    assert env_id == "TicTacToe-v0", "the only game here for two"
    env, table, rng = tictactoe.env(), QTable(lambda: np.zeros(9)), np.random.default_rng(seed)
    for _ in range(games):
        env.reset()
        last = {}  # by agent, the values of the board that it moved on, and its move
        for name in env.agent_iter():
            observation, reward, *_ = env.last()
            legal = np.flatnonzero(observation["action_mask"])  # nothing at the end of the game
            values, action = table[observation["observation"].tobytes()], None
            if name in last:  # the other agent has replied, or the game is over
                before, chosen = last[name]
                following = values[legal].max() if legal.size else 0.0
                before[chosen] += LEARNING_RATE * (reward + following - before[chosen])
            if legal.size:
                explores = rng.random() < EPSILON
                action = int(rng.choice(legal) if explores else legal[values[legal].argmax()])
            last[name] = values, action
            env.step(action)
    return table


if __name__ == "__main__":
    print(evaluate(train(games=10_000), "TicTacToe-v0")["mean"])
