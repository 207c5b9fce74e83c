"""The command that shows games: `python -m baselines watch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from baselines.registry import AGENTS, player, searching
from baselines.runs import CONFIG
from baselines.watching.thoughts import Thinker, in_words
from baselines.watching.watched import Played, Watched, recorded
from tile_envs.checks import checked_seed
from tile_envs.drawing import Picture
from tile_envs.play.player import controls_of, watch
from tile_envs.play.screen import opened
from tile_envs.play.view import Controls
from tile_envs.playthrough import Position
from tile_envs.window import Key


def games_of(
    name: str,
    env: str | None,
    env_kwargs: Mapping[str, Any],
    search: int | None,
    seed: int | None,
) -> Sequence[Watched]:
    """Return what is to be watched: a game that an agent plays, or recorded ones.

    Args:
        name: An agent's name, a run's folder, a replay file, or a folder of them.
        env: The environment's id.
        env_kwargs: The environment's options.
        search: The depth of a search with the agent's values.
        seed: The seed of the list of games whose first one is played.

    Raises:
        ValueError: If there is nothing of that kind.
    """
    path = Path(name)
    is_run = (path / CONFIG).exists()
    if name not in AGENTS and not is_run and (path.is_dir() or path.suffix == ".json"):
        if env or env_kwargs or search is not None or seed is not None:
            raise ValueError(
                f"{path} holds recorded games, which know what they are: give no --env, "
                "--env-kwargs, --search or --seed with them."
            )
        return recorded(path)
    seed = checked_seed(0 if seed is None else seed)
    found = player(name, env, env_kwargs, seed)
    if search is not None:
        found = searching(found, search, {})
    sides = found.sides_to_evaluate(None, exact=False)
    return [Played(found, seed, {} if side is None else {"side": side}) for side in sides[:1]]


def show(games: Sequence[Watched], speed: float, window: bool) -> None:
    """Show games one after the other in the terminal, or in a window.

    Raises:
        RuntimeError: If there is no terminal, or no screen for a window.
    """
    with opened(window, games[0].title) as screen, suppress(KeyboardInterrupt):
        for n, each in enumerate(games, 1):
            game, others = each.playthrough, n < len(games)
            controls = controls_of(game.env, person=False)
            shown = Whispering(controls, each.thinker, game.env.game, partial(_next, each))
            if not watch(
                game, each.action, screen, speed, controls=shown, end=each.end, others=others
            ):
                return


def _next(watched: Watched) -> int | None:
    """Return the action that follows, wherever the person has gone back to."""
    return watched.action(len(watched.playthrough.actions))


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

    def text(self, position: Position, colours: bool) -> str:
        """Return the board as lines of text, painted or not."""
        return self._controls.text(position, colours)

    def picture(self, position: Position) -> Picture:
        """Return the board as a picture."""
        return self._controls.picture(position)
