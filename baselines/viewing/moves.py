"""Games to be watched: those that an agent plays, move by move, and recorded ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from baselines.progress import Progress
from baselines.registry import Player
from baselines.seeds import game_seeds
from baselines.viewing.thoughts import Thinker, in_words
from tile_envs.agents import ask
from tile_envs.errors import UsageError
from tile_envs.games import make
from tile_envs.replay import Playthrough, Position, begin, read
from tile_envs.words import counted


@dataclass
class Watched:
    """A game that goes on as long as it is asked for its next action.

    Attributes:
        playthrough: The game; whoever watches plays it.
        title: Who plays what.
        about: The environment, its options and the seed.
        thinker: What is thought of its positions.
        action: Returns the action after n moves; None at the end of the game.
        end: How many moves it has, if that is known.
    """

    playthrough: Playthrough
    title: str
    about: str
    thinker: Thinker
    action: Callable[[int], int | None]
    end: int | None = None

    def next_action(self) -> int | None:
        """Return the action that follows, wherever the game has been taken back to."""
        return self.action(len(self.playthrough.actions))

    def hints(self, position: Position) -> list[str]:
        """Return what is thought of a position, with the action that follows in brackets."""
        game = self.playthrough.env.game
        return in_words(self.thinker.of(position), game, self.next_action())

    def play_on(self) -> Playthrough:
        """Play the game to its end."""
        with Progress(self.title) as progress:
            while (action := self.next_action()) is not None:
                self.playthrough.play(action)
                moves = len(self.playthrough.actions)
                progress.update(moves, counted(moves, "move"))
        return self.playthrough


def agent_game(player: Player, seed: int, options: Mapping[str, Any]) -> Watched:
    """Return a game that an agent plays: the first one of the list that `evaluate` plays.

    Args:
        player: The agent, and what it plays.
        seed: The seed of the list.
        options: What is to be changed in the environment's options.
    """
    task = player.task
    (word,) = game_seeds(seed, 1, "evaluation").tolist()
    options = {**task.env_kwargs, **options}
    playthrough = Playthrough(make(task.env, options), word)
    actions: list[int] = []
    state: Any = None

    def action(n: int) -> int | None:
        nonlocal state
        position = playthrough.position
        if n == len(actions) and not position.over:
            observations, masks = position.observation[None], position.info["action_mask"][None]
            first = np.array([not actions])
            chosen, state = ask(player.agent, observations, masks, state, first)
            actions.append(int(chosen[0]))
        return actions[n] if n < len(actions) else None

    thinker = Thinker(playthrough.env.game, player.agent, player.name)
    about = _about(task.env, ({"opponent": "random"} if task.sides else {}) | options, seed)
    return Watched(playthrough, f"{player.name} plays {task.game.name}", about, thinker, action)


def recorded_games(path: Path) -> Sequence[Watched]:
    """Return the games of a replay file, or of a folder of them.

    Raises:
        ValueError: If there are none, or one cannot be played.
    """
    paths = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not paths:
        raise UsageError(f"{path} holds neither a run nor recorded games (*.json).")
    return [_recorded_game(path) for path in paths]


def _recorded_game(path: Path) -> Watched:
    recorded = read(path)
    playthrough = begin(recorded)
    title = f"{recorded.player}, {path.stem}" if recorded.player else path.stem
    about = _about(recorded.env, recorded.options, recorded.seed)
    thinker = Thinker(playthrough.env.game, None, "")
    end = len(recorded.actions)
    return Watched(playthrough, title, about, thinker, recorded.action, end)


def check_kind(games: Sequence[Watched]) -> None:
    """Check that games can be shown together.

    Raises:
        ValueError: If they are of several kinds.
    """
    kinds = {str(watched.playthrough.env.game) for watched in games}
    if len(kinds) > 1:
        raise UsageError(f"a file shows games of one kind, got {', '.join(sorted(kinds))}.")


def _about(env: str, options: Mapping[str, Any], seed: int) -> str:
    words = [f"{name}={value}" for name, value in options.items()]
    return ", ".join([env, *words, f"seed {seed}"])
