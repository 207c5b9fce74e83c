"""Plays OpenSpiel's games with our agents: tic-tac-toe against its MCTS, and its 2048.

Random play in the same seat is the comparison; no agent is trained.
"""

import numpy as np
import pyspiel

from baselines.players import make_agent
from tile_envs.plug.openspiel import GAMES, AgentBot

ENDLESS = {"max_tile": 262144}  # 2048 ends only when no move is left
UCT_C, SIMULATIONS, MEGABYTES, SOLVE, VERBOSE = 2.0, 100, 10, True, False


def results(agent="minimax", name="tic_tac_toe", seat=0, episodes=100, seed=0):
    """Return the results of one of our agents, `(episodes,)`, in tic-tac-toe against MCTS."""
    game = pyspiel.load_game(name, ENDLESS if name == "2048" else {})
    ours = AgentBot(make_agent(agent, GAMES[name], seed))
    rng, returns = np.random.default_rng(seed), np.zeros(episodes)
    for episode in range(episodes):
        state, bots = game.new_initial_state(), [ours]
        if name == "tic_tac_toe":
            evaluator = pyspiel.RandomRolloutEvaluator(1, episode)
            options = UCT_C, SIMULATIONS, MEGABYTES, SOLVE, episode, VERBOSE
            bots.insert(1 - seat, pyspiel.MCTSBot(game, evaluator, *options))
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(int(rng.choice(outcomes, p=probabilities)))
            else:
                state.apply_action(bots[state.current_player()].step(state))
        returns[episode] = state.returns()[seat]
    return returns


if __name__ == "__main__":
    print(results("minimax").mean(), results("random").mean())
