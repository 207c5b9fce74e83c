"""The agent seam: anything with Stable-Baselines3's `predict`."""

from __future__ import annotations

import inspect
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Agent(Protocol):
    """An agent that answers a batch of observations with a batch of actions."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Return actions `(n,)` for observations `(n, ...)`.

        Args:
            observation: The observations.
            state: What a recurrent agent returned the last time; None at first.
            episode_start: `(n,)`, the games that have just begun.
            deterministic: Whether to choose the best action rather than to draw one.

        Returns:
            The actions, and the state that a recurrent agent wants back the next time.
        """


def mask_argument(agent: Agent, masks: NDArray[np.bool_]) -> dict[str, Any]:
    """Return `predict`'s extra argument for agents that must be told the mask (MaskablePPO)."""
    takes_masks = "action_masks" in inspect.signature(agent.predict).parameters
    return {"action_masks": masks} if takes_masks else {}
