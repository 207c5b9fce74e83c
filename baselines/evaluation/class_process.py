"""The class of a submission in the process of its own: it is made with its game, and asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baselines.agents import instance
from tile_envs.agents import choose_actions
from tile_envs.games import game_from_json

ACTIONS, PROBABILITIES = "actions", "probabilities"
"""What a class answers with: integers `(n,)`, or numbers `(n, actions)`."""


def answering(
    kind: type[Any], game: str, seed: int, exact: bool
) -> tuple[str, Callable[[Any], list[Any]]]:
    """Make an agent; return what it answers with, and what answers a list of boards.

    Args:
        kind: The class, made as `kind(game, seed)`.
        game: The game as JSON.
        seed: The seed of the agent's own random numbers.
        exact: Whether it answers with probabilities if it has them.
    """
    own = game_from_json(game)
    agent, dtype = instance(kind, {"game": own, "seed": seed}), own.observation_space.dtype

    def probabilities(boards: Any) -> list[Any]:
        return list(np.asarray(agent.action_probabilities(np.array(boards, dtype))).tolist())

    def actions(boards: Any) -> list[Any]:
        observations = np.array(boards, dtype)
        chosen, state = choose_actions(agent, observations, own.legal_actions(observations))
        if state is not None:
            raise ValueError("predict returns a state: a submission is a function of the board")
        return list(chosen.tolist())

    if exact and hasattr(agent, "action_probabilities"):
        return PROBABILITIES, probabilities
    return ACTIONS, actions
