"""A playthrough: an environment and all positions of its game, for undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tile_envs.base.env import GameEnv, Info


class Position(NamedTuple):
    """The state of a game after an action, or at its start.

    Attributes:
        state: What `set_state` takes to come back here; `state["board"]` is the board.
        observation: The last observation.
        info: The last info.
        total: The sum of the rewards so far.
        terminated: Whether the last action ended the game.
        truncated: Whether it was one illegal action too many.
    """

    state: Mapping[str, Any]
    observation: NDArray[Any]
    info: Info
    total: float = 0.0
    terminated: bool = False
    truncated: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing can be played, as also on a board without legal actions at the start."""
        return self.terminated or self.truncated or not self.info["action_mask"].any()


class Playthrough:
    """A game that can be taken back.

    Attributes:
        env: The environment, in the last position.
        seed: What the environment was reset with.
        reset: The options that it was reset with.
        actions: All actions so far.
        positions: All positions, from the first on.
    """

    def __init__(
        self, env: GameEnv[Any, Any], seed: int, reset: Mapping[str, Any] | None = None
    ) -> None:
        self.env = env
        self.seed = seed
        self.reset = dict(reset or {})
        self.actions: list[int] = []
        observation, info = env.reset(seed=seed, options=self.reset)
        self.positions = [Position(env.get_state(), observation, info)]

    @property
    def position(self) -> Position:
        """The last position."""
        return self.positions[-1]

    def play(self, action: int) -> None:
        """Play an action.

        Raises:
            ValueError: If it is not an action of the game.
            ResetNeeded: After the end.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        total = self.position.total + float(reward)
        state = self.env.get_state()
        self.positions.append(Position(state, observation, info, total, terminated, truncated))
        self.actions.append(action)

    def take_back(self) -> None:
        """Take the last action back, if there is one."""
        if self.actions:
            self.actions.pop()
            self.positions.pop()
            self.env.set_state(self.position.state)
