"""What an agent plays on every board, as probabilities: what exact evaluation asks of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.agents import Agent, ask
from tile_envs.checks import checked_actions

Policy = NDArray[np.float64]


def probabilities_of(
    agent: Agent, observations: NDArray[Any], masks: NDArray[Any], note: str = ""
) -> Policy:
    """Ask an agent for its probabilities of actions.

    Args:
        agent: One with `action_probabilities(observations) -> (n, actions)`, or else with a
            `predict` that depends on nothing but the observation.
        observations: `(n, ...)`.
        masks: `(n, actions)`, the legal actions, at least one each.
        note: What is added to an error after the agent's name, such as " as X".

    Returns:
        `(n, actions)`, 1 for the action of an agent without `action_probabilities`.

    Raises:
        ValueError: If the agent plays illegal actions, its probabilities do not add up to 1, or it
            keeps a state of its own.
    """
    name = type(agent).__name__
    n, n_actions = masks.shape
    if hasattr(agent, "action_probabilities"):
        chosen = np.asarray(agent.action_probabilities(observations), np.float64)
        if chosen.shape != masks.shape:
            raise ValueError(
                f"{name}.action_probabilities must return shape {masks.shape}, got {chosen.shape}."
            )
    else:
        actions, state = ask(agent, observations, masks)
        if state is not None:
            raise ValueError(
                f"{name} keeps a state from move to move: exact evaluation is for agents whose "
                "play depends on the board alone; leave out --exact."
            )
        chosen = np.eye(n_actions)[checked_actions(actions, n, n_actions)]
    wrong = (chosen * ~masks.astype(np.bool_)).any(axis=1) | ~np.isclose(chosen.sum(axis=1), 1)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name} plays {np.round(chosen[at], 3).tolist()}{note} on "
            f"{observations[at].tolist()}: expected probabilities of legal actions that add up "
            "to 1."
        )
    return chosen
