"""What an agent plays on every board, as probabilities: what exact evaluation asks of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.agents import Agent, choose_actions
from tile_envs.errors import UsageError

Policy = NDArray[np.float64]


def probabilities_of(agent: Agent, observations: NDArray[Any], masks: NDArray[Any]) -> Policy:
    """Ask an agent for its probabilities of actions.

    Args:
        agent: One with `action_probabilities(observations) -> (n, actions)`, or else with a
            `predict` that depends on nothing but the observation.  It may say itself what else its
            play `depends_on`.
        observations: `(n, ...)`.
        masks: `(n, actions)`, the legal actions, at least one each.

    Returns:
        `(n, actions)`, 1 for the action of an agent without `action_probabilities`.
    """
    name = type(agent).__name__
    legal = masks.astype(np.bool_)
    probabilities = getattr(agent, "action_probabilities", None)
    if probabilities is not None:
        chosen = np.asarray(probabilities(observations), np.float64)
    else:
        chosen = np.eye(legal.shape[1])[_actions_of(agent, observations, legal, name)]
    if chosen.shape != legal.shape:
        raise UsageError(
            f"{name}.action_probabilities must return shape {legal.shape}, got {chosen.shape}."
        )
    wrong = np.where(legal, chosen < 0, chosen != 0).any(axis=1)
    wrong |= ~np.isclose(chosen.sum(axis=1), 1)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        played: Any = int(chosen[at].argmax())
        wanted = "a legal action"
        if probabilities is not None:
            played = np.round(chosen[at], 3).tolist()
            wanted = "probabilities of legal actions that add up to 1"
        raise UsageError(
            f"{name} plays {played} on {observations[at].tolist()}: expected {wanted}; "
            f"legal is {np.flatnonzero(legal[at]).tolist()}."
        )
    return chosen


def _actions_of(
    agent: Agent, observations: NDArray[Any], legal: NDArray[np.bool_], name: str
) -> NDArray[np.int64]:
    """Ask an agent for its actions `(n,)`, twice, to detect randomness."""
    reason = getattr(agent, "depends_on", "")
    if not reason:
        actions, state = choose_actions(agent, observations, legal)
        again, _ = choose_actions(agent, observations, legal)
        if state is None and (actions == again).all():
            return actions
        reason = "chance or memory"
    raise UsageError(
        f"{name} is not a memoryless policy ({reason}): exact evaluation needs a function of the "
        "board, or action_probabilities. Leave out --exact."
    )
