"""Tic-tac-toe as a table of transitions, for dynamic programming."""

from __future__ import annotations

import numpy as np

from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import O, X, encode, solve

Outcome = tuple[float, int, float, bool]


def transitions(opponent: str = "random", side: str = "X") -> dict[int, dict[int, list[Outcome]]]:
    """Return all that can happen, as `env.P` of Gymnasium's toy environments.

    Value iteration, by the positions with the most marks first, finds what perfect play is worth:

    >>> P, V = transitions("random", "X"), {}
    >>> for state in sorted(P, key=lambda code: -sum(code // 3**cell % 3 > 0 for cell in range(9))):
    ...     values = [
    ...         sum(p * (reward + V[after]) for p, after, reward, terminated in outcomes)
    ...         for outcomes in P[state].values()
    ...     ]
    ...     V[state] = max(values, default=0.0)
    >>> f"{V[0]:.4f}"
    '0.9948'

    Args:
        opponent: A named opponent: "random", "minimax" or "minimax_first".
        side: What the agent plays: "X", "O", or "both"; "random" has the positions of both sides.

    Returns:
        By state, by legal action, the outcomes: `(probability, next state, reward, terminated)`.  A
        state is the code of a position in which the agent is to move, the empty board 0; each cell
        is a digit to the base 3, the first one lowest: 0 empty, 1 X, 2 O.  States in which the game
        is over have no actions.  With side "both", the reward is that of the one who has moved.

    Raises:
        ValueError: If an argument is not as described.
    """
    game, tables = TicTacToe(opponent, side), solve()
    agents = {"X": (X,), "O": (O,)}.get(side, (X, O))
    states = np.flatnonzero(tables.reachable & np.isin(tables.to_move, agents))
    table: dict[int, dict[int, list[Outcome]]] = {state: {} for state in states.tolist()}

    # All legal moves, and what follows them: the replies, or the afterstate if it ends the game.
    movers = tables.to_move[states]
    afterstates, _, masks = game.afterstates(tables.views[movers, states])
    rows, actions = np.nonzero(masks)
    states, movers, afterstates = states[rows], movers[rows], afterstates[rows, actions]
    moves, boards, probabilities = game.replies(afterstates)
    observers = -movers if side == "both" else movers
    replied = encode(boards * observers[moves, None, None])
    moved = encode(afterstates * movers[:, None, None])
    ends = np.flatnonzero(tables.over[moved])
    moves, following = np.append(moves, ends), np.append(replied, moved[ends])
    probabilities = np.append(probabilities, np.ones(len(ends)))

    rewards = (tables.winner[following] * movers[moves]).astype(float)
    outcomes = probabilities, following, rewards, tables.over[following]
    for state, action in zip(states.tolist(), actions.tolist(), strict=True):
        table[state][action] = []
    for move, *outcome in zip(*(column.tolist() for column in (moves, *outcomes)), strict=True):
        table[int(states[move])][int(actions[move])].append(tuple(outcome))
    return table | {code: {} for code in following[tables.over[following]].tolist()}
