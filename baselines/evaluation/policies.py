"""Policies: an agent's probabilities of actions on boards, and where they lead in tic-tac-toe.

There a policy gives each cell's probability, `(19683, 9)`, by the codes of `positions`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.agents import Agent, choose_actions
from tile_envs.errors import UsageError
from tile_envs.text import MARKS
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELLS, O, X, solve

Policy = NDArray[np.float64]
BATCH = 1 << 15  # boards that an agent is asked for at once
RANDOM = TicTacToe(opponent="random")


def probabilities_of(agent: Agent, observations: NDArray[Any], masks: NDArray[Any]) -> Policy:
    """Ask an agent for its probabilities of actions, `(n, actions)`, of which masks tell the legal.

    Without `action_probabilities(observations)`, it is 1 for its action: `predict` is asked twice,
    to detect randomness, or the agent says itself what else its play `depends_on`.
    """
    if len(observations) > BATCH:
        parts = (slice(i, i + BATCH) for i in range(0, len(observations), BATCH))
        asked = [probabilities_of(agent, observations[part], masks[part]) for part in parts]
        return np.concatenate(asked)
    name, legal = type(agent).__name__, masks.astype(np.bool_)
    probabilities = getattr(agent, "action_probabilities", None)
    if probabilities is not None:
        wanted = "probabilities of legal actions that add up to 1"
        chosen = np.asarray(probabilities(observations), np.float64)
    else:
        wanted, reason = "a legal action", getattr(agent, "depends_on", "")
        if not reason:
            actions, state = choose_actions(agent, observations, legal)
            again, _ = choose_actions(agent, observations, legal)
            reason = "chance or memory" * bool(state is not None or (actions != again).any())
        if reason:
            text = f"{name} is not a memoryless policy ({reason}), as exact results need."
            raise UsageError(f"{text} Leave out --exact.")
        chosen = np.eye(legal.shape[1])[actions]
    if chosen.shape != legal.shape:
        raise UsageError(f"{name} must give probabilities {legal.shape}, got {chosen.shape}.")
    wrong = np.where(legal, chosen < 0, chosen != 0).any(axis=1)
    wrong |= ~np.isclose(chosen.sum(axis=1), 1)
    if wrong.any():
        at = int(wrong.argmax())
        played = chosen[at].argmax() if probabilities is None else chosen[at].round(3).tolist()
        wanted += f"; legal is {np.flatnonzero(legal[at]).tolist()}."
        raise UsageError(f"{name} plays {played} on {observations[at].tolist()}: expected {wanted}")
    return chosen


class Outcome(NamedTuple):
    """How games end, as fractions, for one side."""

    win: float
    draw: float
    loss: float

    @property
    def worst(self) -> int:
        """The worst outcome of positive probability, -1, 0 or 1; of random play, of all play."""
        return -1 if self.loss else 0 if self.draw else 1


def policy_of(agent: Agent, side: str) -> Policy:
    """Return the policy of an agent on one side, "X" or "O", zero where the other is to move."""
    if side not in MARKS:
        raise UsageError(f"exact evaluation takes side X or O, got {side!r}.")
    tree, mark = solve(), MARKS[side]
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


def against(policy: Policy, side: str, game: TicTacToe = RANDOM) -> Outcome:
    """Return how a side's policy fares against the opponent of a game, by default random play."""
    if game.mixture:
        other = game.policies.probabilities
    else:
        opponent: Any = game.opponent
        other = policy_of(opponent, "O" if side == "X" else "X")
    return outcome(policy, other) if side == "X" else Outcome(*reversed(outcome(other, policy)))
