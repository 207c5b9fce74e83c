"""Games to be watched: those that an agent plays, move by move, and recorded ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baselines.progress import Progress
from baselines.registry import Player
from baselines.seeds import game_seeds
from baselines.viewing.thoughts import Thinker
from tile_envs import replay
from tile_envs.agents import ask
from tile_envs.errors import UsageError
from tile_envs.games import make
from tile_envs.playthrough import Playthrough
from tile_envs.words import counted


class Watched(ABC):
    """A game that goes on as long as it is asked for its next action.

    Attributes:
        playthrough: The game; whoever watches plays it.
        title: Who plays what.
        about: What there is to say besides.
        thinker: What is thought of its positions.
        end: How many moves it has, if that is known already.
    """

    def __init__(
        self, playthrough: Playthrough, title: str, about: str, thinker: Thinker, end: int | None
    ) -> None:
        self.playthrough, self.title, self.about = playthrough, title, about
        self.thinker, self.end = thinker, end

    @abstractmethod
    def action(self, n: int) -> int | None:
        """Return the action after n moves; None at the end of the game."""

    def next_action(self) -> int | None:
        """Return the action that follows, wherever the game has been taken back to."""
        return self.action(len(self.playthrough.actions))

    def play_on(self) -> Playthrough:
        """Play the game to its end."""
        with Progress(self.title) as progress:
            while (action := self.next_action()) is not None:
                self.playthrough.play(action)
                moves = len(self.playthrough.actions)
                progress.update(moves, counted(moves, "move"))
        return self.playthrough


class Played(Watched):
    """A game that an agent plays: the first one of the list that `evaluate` plays.

    Args:
        player: The agent, and what it plays.
        seed: The seed of the list.
        options: What is to be changed in the environment's options.
    """

    def __init__(self, player: Player, seed: int, options: dict[str, Any]) -> None:
        task = player.task
        (word,) = game_seeds(seed, 1, "evaluation").tolist()
        options = {**task.env_kwargs, **options}
        playthrough = Playthrough(make(task.env, options), word)
        thinker = Thinker(playthrough.env.game, player.agent, player.name)
        title = f"{player.name} plays {task.game.name}"
        if task.sides:
            options = {"opponent": "random"} | options
        super().__init__(playthrough, title, _about(task.env, options, seed), thinker, None)
        self._agent, self._chosen = player.agent, list[int]()
        self._state: Any = None

    def action(self, n: int) -> int | None:
        """Return the action after n moves; None at the end of the game."""
        if n < len(self._chosen):
            return self._chosen[n]
        position = self.playthrough.position
        if position.over:
            return None
        seen, mask = position.observation[None], position.info["action_mask"][None]
        first = np.array([not self._chosen])
        actions, self._state = ask(self._agent, seen, mask, self._state, first)
        self._chosen.append(int(actions[0]))
        return self._chosen[n]


class Recorded(Watched):
    """A game of a replay file.

    Args:
        path: The file.

    Raises:
        ValueError: If it is none, or cannot be played.
    """

    def __init__(self, path: Path) -> None:
        self._replay = replay.read(path)
        playthrough = replay.begin(self._replay)
        thinker = Thinker(playthrough.env.game, None, "")
        about = _about(self._replay.env, self._replay.options, self._replay.seed)
        who = f"{self._replay.player}, {path.stem}" if self._replay.player else path.stem
        super().__init__(playthrough, who, about, thinker, len(self._replay.actions))

    def action(self, n: int) -> int | None:
        """Return the action after n moves; None at the end of the game."""
        return self._replay.action(n)


def check_kind(games: Sequence[Watched]) -> None:
    """Check that games can be shown together.

    Raises:
        ValueError: If they are of several kinds.
    """
    kinds = {str(watched.playthrough.env.game) for watched in games}
    if len(kinds) > 1:
        raise UsageError(f"a file shows games of one kind, got {', '.join(sorted(kinds))}.")


def recorded_games(path: Path) -> Sequence[Recorded]:
    """Return the games of a replay file, or of a folder of them.

    Raises:
        ValueError: If there are none, or one cannot be played.
    """
    paths = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not paths:
        raise UsageError(f"{path} holds neither a run nor recorded games (*.json).")
    return [Recorded(path) for path in paths]


def _about(env: str, options: Mapping[str, Any], seed: int) -> str:
    words = [f"{name}={value}" for name, value in options.items()]
    return ", ".join([env, *words, f"seed {seed}"])
