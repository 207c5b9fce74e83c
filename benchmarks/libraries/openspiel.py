"""Plays tic-tac-toe against OpenSpiel's MCTS, with agents of this package as OpenSpiel's bots.

Random play in the same seats is the comparison; no agent is trained.
"""

import numpy as np
import pyspiel

from baselines.players import make_agent
from tile_envs.plug.openspiel import GAMES, AgentBot

UCT_C, SIMULATIONS, MEGABYTES, SOLVE, VERBOSE = 2.0, 100, 10, True, False


def results(agent="minimax", episodes=100, seed=0):
    """Return the results of one of our agents, `(episodes,)`, which plays X and O in turn."""
    game, ours = pyspiel.load_game("tic_tac_toe"), make_agent(agent, GAMES["tic_tac_toe"], seed)
    returns = np.zeros(episodes)
    for n in range(episodes):
        evaluator = pyspiel.RandomRolloutEvaluator(1, n)
        bots = [pyspiel.MCTSBot(game, evaluator, UCT_C, SIMULATIONS, MEGABYTES, SOLVE, n, VERBOSE)]
        bots.insert(n % 2, AgentBot(ours))
        returns[n] = pyspiel.evaluate_bots(game.new_initial_state(), bots, seed + n)[n % 2]
    return returns


if __name__ == "__main__":
    print(results("minimax").mean(), results("random").mean())
