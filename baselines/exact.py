"""The exact judge of tic-tac-toe: it walks the whole tree, so that no figure carries noise.

A *policy* is the probability of each cell in each position, `(19683, 9)` by the codes of
`tile_envs.tictactoe.positions`; an agent is asked once, for all positions in which it may have to
move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.agent import shared
from tile_envs.agents import Agent, mask_argument
from tile_envs.tictactoe.positions import CELLS, DIGITS, POWERS, O, X, solve

Policy = NDArray[np.float64]

MARKS = {"X": X, "O": O}


class Outcome(NamedTuple):
    """How games end, as shares, for one side."""

    win: float
    draw: float
    loss: float


def random_policy() -> Policy:
    """Return the policy that plays any free cell, all with the same probability."""
    return shared(solve().masks)


def policy_of(agent: Agent, side: str) -> Policy:
    """Ask an agent what it plays on one side.

    Args:
        agent: One with `action_probabilities(observations) -> (n, 9)`, or else with a `predict`
            that depends on nothing but the observation.
        side: "X" or "O".

    Returns:
        Its policy, zero where the other side is to move.

    Raises:
        ValueError: If the agent plays a taken cell, or its probabilities do not add up to 1.
    """
    known = solve()
    mark = MARKS[side]
    codes = np.flatnonzero(known.reachable & ~known.over & (known.to_move == mark))
    observations = known.views[mark, codes]
    masks = known.masks[codes].astype(np.bool_)
    if hasattr(agent, "action_probabilities"):
        chosen = np.asarray(agent.action_probabilities(observations), np.float64)
    else:
        actions, _ = agent.predict(observations, **mask_argument(agent, masks))
        chosen = np.eye(CELLS)[np.asarray(actions)]
    wrong = (chosen * ~masks).any(axis=1) | ~np.isclose(chosen.sum(axis=1), 1)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{type(agent).__name__} plays {np.round(chosen[at], 3).tolist()} as {side} on "
            f"{known.marks[codes[at]].tolist()}: expected probabilities of free cells that add up "
            "to 1."
        )
    policy = np.zeros((3**CELLS, CELLS))
    policy[codes] = chosen
    return policy


def outcome(x: Policy, o: Policy) -> Outcome:
    """Return how X fares when two policies meet."""
    known = solve()
    shares = np.stack([known.winner == X, known.winner == 0, known.winner == O], axis=1) * 1.0
    for layer, children in _layers():
        policy = np.where(known.to_move[layer, None] == X, x[layer], o[layer])
        shares[layer] = np.einsum("nc,ncs->ns", policy, shares[children])
    return Outcome(*map(float, shares[0]))


def against_random(policy: Policy, side: str) -> Outcome:
    """Return how a side's policy fares against uniformly random play."""
    if side == "X":
        return outcome(policy, random_policy())
    shares = outcome(random_policy(), policy)
    return Outcome(shares.loss, shares.draw, shares.win)


def worst_case(policy: Policy, side: str) -> int:
    """Return the worst result, -1, 0 or 1, that any opponent can force, with luck, on a policy.

    A stochastic agent is held to everything that it plays with a probability above 0.
    """
    known = solve()
    mark = MARKS[side]
    worst = known.winner * mark
    for layer, children in _layers():
        own = known.to_move[layer] == mark
        possible = np.where(own[:, None], policy[layer] > 0, known.masks[layer] > 0)
        # Nothing is worse than 1, so cells that are not played do not count.
        worst[layer] = np.where(possible, worst[children], 1).min(axis=1)
    return int(worst[0])


def _layers() -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the unfinished positions, the fullest first, and what each cell leads to `(n, 9)`.

    Cells that are taken lead to the empty board, where nothing is known yet: whoever follows them
    must give them no weight.
    """
    known = solve()
    n_marks = (known.marks != 0).sum(axis=(1, 2))
    layers: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for n in reversed(range(CELLS)):
        layer = np.flatnonzero(known.reachable & ~known.over & (n_marks == n))
        digits = np.where(known.to_move[layer] == X, DIGITS[X], DIGITS[O])
        children = (layer[:, None] + POWERS * digits[:, None]) * known.masks[layer]
        layers.append((layer, children))
    return layers
