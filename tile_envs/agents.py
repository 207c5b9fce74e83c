"""The agent seam: anything with Stable-Baselines3's `predict`."""

from collections.abc import Callable
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import checked_actions
from tile_envs.errors import UsageError
from tile_envs.game import Game


class Agent(Protocol):
    """An agent that maps a batch of observations to a batch of actions."""

    @property
    def predict(self) -> Callable[..., Any]:
        """`predict(observation)`; it gets those of these arguments, too, that it takes.

        - `state`: the state that a recurrent agent returned last; None at first.
        - `episode_start`: `(n,) bool`, the games that have just started.
        - `deterministic`: whether to choose the best action rather than to draw one.
        - `action_masks`: `(n, actions) bool`, the legal actions, as MaskablePPO takes them.

        Of observations `(n, ...)` it returns actions `(n,)`, and a recurrent agent's next state.
        """


def ask(
    agent: Agent,
    observations: NDArray[Any],
    masks: NDArray[Any],
    state: Any = None,
    episode_start: NDArray[np.bool_] | None = None,
    deterministic: bool = True,
) -> tuple[Any, Any]:
    """Ask an agent for actions, which are not checked, and its next state, or None."""
    given = {"state": state, "episode_start": episode_start, "deterministic": deterministic}
    given["action_masks"] = np.asarray(masks, np.bool_)
    taken = _parameters(getattr(agent.predict, "__func__", agent.predict))
    passed = {n: value for n, value in given.items() if taken & {n, Parameter.VAR_KEYWORD}}
    answer = agent.predict(observations, **passed)
    return answer if isinstance(answer, tuple) else (answer, None)


@lru_cache(maxsize=16)
def _parameters(function: Callable[..., Any]) -> frozenset[Any]:
    parameters = signature(function).parameters
    return frozenset({*parameters, *(parameter.kind for parameter in parameters.values())})


def check_plays(agent: object, game: Game) -> None:
    """Check that an agent that knows its game plays this one, with whatever tiles and opponents."""
    own = getattr(agent, "game", getattr(agent, "_game", None))
    if isinstance(own, Game):
        kinds = {(each.name, each.shape, getattr(each, "rules", None)) for each in (own, game)}
        if len(kinds) > 1:
            name = type(agent).__name__
            raise UsageError(f"{name} plays {own}, not {game}: take an agent of this game.")


def choose_actions(
    agent: Agent, observations: NDArray[Any], masks: NDArray[Any], *more: Any
) -> tuple[NDArray[np.int64], Any]:
    """Ask an agent for actions; a `ValueError` says if one is outside the action space."""
    actions, state = ask(agent, observations, masks, *more)
    return checked_actions(actions, *masks.shape), state
