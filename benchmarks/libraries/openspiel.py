"""Plays OpenSpiel's games with our agents: perfect play against its MCTS, and greedy play in 2048.

No agent is trained.  Random play in the same seat is the comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.registry import make_agent
from benchmarks.libraries.clients import SEED, Client, Row, client_row, installed

SEATS = (0, 1)
SIMULATIONS, EXPLORATION, MEGABYTES = 100, 2.0, 10
"""Of OpenSpiel's MCTS."""
ENDLESS = {"max_tile": 262144}
"""Makes OpenSpiel's 2048 end only when no move is left."""


AGAINST_MCTS = [
    Client(
        "OpenSpiel",
        "open_spiel",
        "pyspiel",
        f"minimax against its MCTS, player {seat}",
        *("TicTacToe-v0", "its own", ""),
    )
    for seat in SEATS
]
IN_2048 = Client(*("OpenSpiel", "open_spiel", "pyspiel", "greedy", "Tiles2048-v0", "its own", ""))


def keys(episodes: int) -> list[Row]:
    """Return the columns that name each row; none without OpenSpiel.

    Args:
        episodes: The number of games of each evaluation.
    """
    return [client.key for client in (*AGAINST_MCTS, IN_2048) if installed(client)]


def rows(episodes: int) -> list[Row]:
    """Let minimax and random play meet OpenSpiel's MCTS, and greedy and random play its 2048.

    Args:
        episodes: The number of games of each evaluation.

    Returns:
        A row for each seat of tic-tac-toe, and one for 2048.
    """
    made = []
    for seat, client in zip(SEATS, AGAINST_MCTS, strict=True):
        results, illegal = _tictactoe("minimax", seat, episodes)
        at_random, _ = _tictactoe("random", seat, episodes)
        made.append(client_row(client, results, at_random, illegal))
    results, illegal = _results("2048", "greedy", 0, episodes, lambda seed: [])
    at_random, _ = _results("2048", "random", 0, episodes, lambda seed: [])
    return [*made, client_row(IN_2048, results, at_random, illegal)]


def _tictactoe(agent: str, seat: int, episodes: int) -> tuple[NDArray[np.float64], int]:
    import pyspiel

    def mcts(seed: int) -> list[Any]:
        game, evaluator = pyspiel.load_game("tic_tac_toe"), pyspiel.RandomRolloutEvaluator(1, seed)
        solve, verbose = True, False
        options = (EXPLORATION, SIMULATIONS, MEGABYTES, solve, seed, verbose)
        return [pyspiel.MCTSBot(game, evaluator, *options)]

    return _results("tic_tac_toe", agent, seat, episodes, mcts)


def _results(
    name: str, agent: str, seat: int, episodes: int, others: Callable[[int], list[Any]]
) -> tuple[NDArray[np.float64], int]:
    """Return an agent's results, `(episodes,)`, and how many of all moves have changed nothing.

    Args:
        name: OpenSpiel's name of the game.
        agent: The name of our agent.
        seat: The player that it is.
        episodes: The number of games.
        others: Makes the other players' bots, from the number of the game.
    """
    import pyspiel

    from tile_envs.plug.openspiel import GAMES, AgentBot

    game = pyspiel.load_game(name, ENDLESS if name == "2048" else {})
    rng, ours = np.random.default_rng(SEED), AgentBot(make_agent(agent, GAMES[name], SEED))
    results, illegal = np.zeros(episodes), 0
    for episode in range(episodes):
        state, bots = game.new_initial_state(), others(episode)
        bots.insert(seat, ours)
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(int(rng.choice(outcomes, p=probabilities)))
            else:
                before = str(state)
                state.apply_action(bots[state.current_player()].step(state))
                illegal += str(state) == before
        results[episode] = state.returns()[seat]
    return results, illegal
