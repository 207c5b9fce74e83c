"""The controls of a game with what an agent thinks of the moves below the board."""

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


class Whispering(Controls):
    """The controls of a game; below the board stands what is thought of the moves.

    Args:
        controls: The controls.
        thinker: Says what is thought.
        game: The game.
        chosen: Returns the action that is played next, which is marked; None if that is unknown.
    """

    def __init__(
        self,
        controls: Controls,
        thinker: Thinker,
        game: Any,
        chosen: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.keys = controls.keys
        self._controls, self._thinker, self._game = controls, thinker, game
        self._chosen = chosen

    def action(self, key: Key) -> int | None:
        """Return what a key plays."""
        return self._controls.action(key)

    def words(self, position: Position) -> str:
        """Return what there is to say, and what is thought of the moves."""
        thoughts = in_words(self._thinker.of(position), self._game, self._chosen())
        return "\n".join([self._controls.words(position), *thoughts])

    def text(self, position: Position, colors: bool) -> str:
        """Return the board as lines of text, painted or not."""
        return self._controls.text(position, colors)

    def picture(self, position: Position) -> Picture:
        """Return the board as a picture."""
        return self._controls.picture(position)


def whispering(env: Any, found: Player) -> Controls:
    """Return the controls of an environment with what an agent thinks below the board.

    Raises:
        ValueError: If the agent has no thoughts.
    """
    thinker = Thinker(env.game, found.agent, found.name, exact=False)
    if not thinker:
        raise UsageError(
            f"{found.name} says neither what actions are worth nor how likely they are."
        )
    return Whispering(controls_of(env), thinker, env.game)
