"""Hints: what an agent thinks of the moves, below the board."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baselines.registry import Player
from baselines.viewing.thoughts import Thinker, in_words
from tile_envs.errors import UsageError
from tile_envs.play.controls import Controls, controls_of
from tile_envs.playthrough import Position
from tile_envs.rendering.canvas import Picture
from tile_envs.rendering.window import Key


class HintControls(Controls):
    """The controls of a game, with what an agent thinks of the moves below the board.

    Args:
        controls: The controls without hints.
        thinker: Says what is thought.
        game: The game.
        next_action: Returns the action that is played next, which is marked, if it is known.
    """

    def __init__(
        self,
        controls: Controls,
        thinker: Thinker,
        game: Any,
        next_action: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.keys = controls.keys
        self._controls, self._thinker, self._game = controls, thinker, game
        self._next_action = next_action

    def action(self, key: Key) -> int | None:
        """Return what a key plays."""
        return self._controls.action(key)

    def words(self, position: Position) -> str:
        """Return the state of the game, and what is thought of the moves."""
        thoughts = in_words(self._thinker.of(position), self._game, self._next_action())
        return "\n".join([self._controls.words(position), *thoughts])

    def text(self, position: Position, colors: bool) -> str:
        """Return the board as lines of text, painted or not."""
        return self._controls.text(position, colors)

    def picture(self, position: Position) -> Picture:
        """Return the board as a picture."""
        return self._controls.picture(position)


def hint_controls(env: Any, player: Player) -> Controls:
    """Return the controls of an environment with the hints of an agent.

    Raises:
        ValueError: If the agent has no thoughts.
    """
    thinker = Thinker(env.game, player.agent, player.name, exact=False)
    if not thinker:
        raise UsageError(f"{player.name} has neither action values nor action probabilities.")
    return HintControls(controls_of(env), thinker, env.game)
