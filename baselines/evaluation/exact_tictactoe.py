"""Exact evaluation in tic-tac-toe: the whole tree is walked, so results have no sampling noise.

A *policy* is the probability of each cell in each position, `(19683, 9)` by the codes of
`tile_envs.tictactoe.positions`; an agent is asked once, for all positions in which it may have to
move.
"""

from typing import Any, NamedTuple

import numpy as np

from baselines.agents import equal_probabilities
from baselines.evaluation.policy import Policy, probabilities_of
from tile_envs.agents import Agent
from tile_envs.errors import UsageError
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELLS, O, X, solve

MARKS = {"X": X, "O": O}


class Outcome(NamedTuple):
    """How games end, as fractions, for one side."""

    win: float
    draw: float
    loss: float

    @property
    def worst(self) -> int:
        """The worst outcome of positive probability, -1, 0 or 1.

        Of games with random play it is the worst against every opponent: any may be drawn.
        """
        return -1 if self.loss else 0 if self.draw else 1


def policy_of(agent: Agent, side: str) -> Policy:
    """Return the policy of an agent on one side, "X" or "O", zero where the other is to move."""
    if side not in MARKS:
        raise UsageError(f"exact evaluation takes side X or O, got {side!r}.")
    tree = solve()
    mark = MARKS[side]
    codes = np.flatnonzero(tree.reachable & ~tree.over & (tree.to_move == mark))
    policy = np.zeros((3**CELLS, CELLS))
    policy[codes] = probabilities_of(agent, tree.views[mark, codes], tree.masks[codes])
    return policy


def outcome(x: Policy, o: Policy) -> Outcome:
    """Return how X fares when two policies meet: from the fullest positions to the empty board."""
    tree = solve()
    fractions = np.stack([tree.winner == X, tree.winner == 0, tree.winner == O], axis=1) * 1.0
    n_marks = (tree.marks != 0).sum(axis=(1, 2))
    for n in reversed(range(CELLS)):
        layer = np.flatnonzero(tree.reachable & ~tree.over & (n_marks == n))
        policy = np.where(tree.to_move[layer, None] == X, x[layer], o[layer])
        fractions[layer] = np.einsum("nc,ncs->ns", policy, fractions[tree.children[layer]])
    return Outcome(*map(float, fractions[0]))


def against_random(policy: Policy, side: str) -> Outcome:
    """Return how a side's policy fares against uniformly random play."""
    return against(equal_probabilities(solve().masks), policy, side)


def against_opponent(policy: Policy, side: str, game: TicTacToe) -> Outcome:
    """Return how a side's policy fares against the opponent of a game."""
    if game.mixture:
        return against(game.policies.probabilities, policy, side)
    opponent: Any = game.opponent
    return against(policy_of(opponent, "O" if side == "X" else "X"), policy, side)


def against(other: Policy, policy: Policy, side: str) -> Outcome:
    """Return how a side's policy fares against one of the other side."""
    if side == "X":
        return outcome(policy, other)
    return Outcome(*reversed(outcome(other, policy)))


def side_metrics(agent: Agent, sides: tuple[str, ...]) -> dict[str, float]:
    """Return the fractions against random play, as metrics, of each side that an agent plays."""
    return {
        f"greedy_{name}_{side}": fraction
        for side in sides
        for name, fraction in against_random(policy_of(agent, side), side)._asdict().items()
    }
