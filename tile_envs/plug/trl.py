"""The games as environments of TRL, for `GRPOTrainer(environment_factory=TilesTool)`.

All completions of a row play the game of its seed, new tiles included: the k-th new tile takes the
same random word in each, so equal moves meet equal boards.
"""

from typing import Any

import gymnasium as gym

import tile_envs  # noqa: F401 # registers the environments
from tile_envs.errors import UsageError
from tile_envs.plug.text import TextEnv


class TilesTool:
    """A game with one tool, `move`; TRL itself calls `reset` and `get_reward`."""

    def __init__(self, env: TextEnv | None = None) -> None:
        self._env = TextEnv(gym.make("Tiles2048-v0")) if env is None else env
        self._sum, self._over = 0.0, False

    def reset(self, seed: int | None = None, **row: Any) -> str:
        """Start the game of a row's seed; return the board, which TRL appends to the prompt."""
        if seed is None:
            raise UsageError("each row needs a seed, whose game its group plays: add a column.")
        self._sum, self._over = 0.0, False
        return f"\n\n{self._env.reset(seed=seed)[0]}"

    def move(self, action: str) -> str:
        """Play one move of the game.

        Args:
            action: The move, one of those that the last answer lists as legal.

        Returns:
            The board after the move, the score, and the legal moves.
        """
        if self._over:
            raise UsageError("the game is over: no move is legal.")
        text, reward, terminated, truncated, info = self._env.step(action)
        self._sum, self._over = self._sum + reward, terminated or truncated
        if info["action"] < 0:
            raise UsageError(text.partition("\n")[0])  # TRL counts it, and tells the model
        return text

    def get_reward(self) -> float:
        return self._sum
