"""A playthrough: an environment and all the positions it has been in, so that it can go back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tile_envs.base.env import GameEnv, Info


class Position(NamedTuple):
    """Where a game stands.

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
        """Whether nothing can be played: also on a dead board that the game began with."""
        return self.terminated or self.truncated or not self.info["action_mask"].any()


class Playthrough:
    """A game that is played forwards and backwards.

    Attributes:
        env: The environment.  It stands where the game does.
        seed: What the environment was reset with.
        reset: The options that it was reset with.
        actions: What has been played since.
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
        """Where the game stands."""
        return self.positions[-1]

    def play(self, action: int) -> None:
        """Go one action forwards.

        Raises:
            ValueError: If it is none of the game's actions.
            ResetNeeded: After the end.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        total = self.position.total + float(reward)
        state = self.env.get_state()
        self.positions.append(Position(state, observation, info, total, terminated, truncated))
        self.actions.append(action)

    def take_back(self) -> None:
        """Go one action backwards, if there is one."""
        if self.actions:
            self.actions.pop()
            self.positions.pop()
            self.env.set_state(self.position.state)
