"""Tic-tac-toe as a table of transitions, for dynamic programming."""

from __future__ import annotations

import numpy as np

from tile_envs.errors import UsageError
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.opponents import NAMED
from tile_envs.tictactoe.positions import CELLS, DIGITS, KTH_CELL, POWERS, SET_SIZE, O, X, solve

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
    game, known = TicTacToe(opponent, side), solve()
    if not isinstance(game.opponent, str):
        raise UsageError(f"only named opponents are known: {', '.join(NAMED)}, got {opponent!r}.")
    policy = NAMED[game.opponent]()
    agents = {"X": (X,), "O": (O,)}.get(side, (X, O))
    table: dict[int, dict[int, list[Outcome]]] = {}
    for state in np.flatnonzero(known.reachable & np.isin(known.to_move, agents)).tolist():
        mark = int(known.to_move[state])
        table[state] = {}
        for action in _cells(int(known.legal[state])):
            after = _marked(state, action, mark)
            replies = [after]
            if side != "both" and not known.over[after]:
                replies = [_marked(after, cell, -mark) for cell in _cells(int(policy[after]))]
            table[state][action] = [
                (
                    1 / len(replies),
                    reply,
                    float(known.winner[reply] * mark),
                    bool(known.over[reply]),
                )
                for reply in replies
            ]
            table.update({reply: {} for reply in replies if known.over[reply]})
    return table


def _cells(cells: int) -> list[int]:
    found: list[int] = KTH_CELL[cells * CELLS :][: int(SET_SIZE[cells])].tolist()
    return found


def _marked(code: int, cell: int, mark: int) -> int:
    return code + int(POWERS[cell]) * DIGITS[mark]
