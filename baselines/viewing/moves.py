"""Games to be watched, move by move: an agent's and recorded ones, with what is thought of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.players import Player
from baselines.progress import Progress
from baselines.seeds import game_seeds
from baselines.solver.boards import is_solved_quickly
from tile_envs.agents import choose_actions
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import make
from tile_envs.replay import Playthrough, Position, Replay, begin, read
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import ACTIONS
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELL_NAMES, SIDE, encode_seen, solve
from tile_envs.words import counted, number, printable

Values = NDArray[np.float64]


class Thought(NamedTuple):
    """The values of the actions in one position.

    Attributes:
        name: Whose they are.
        values: `(actions,) float64`, NaN for illegal actions.
        is_exact: Whether they are known, not estimated.
    """

    name: str
    values: Values
    is_exact: bool = False


class Thinker:
    """Says what an agent thinks of positions, and, if `exact`, what is exactly known of them.

    An agent without `action_values` and `action_probabilities` has no thoughts.
    """

    def __init__(self, game: Game, agent: Any, name: str, exact: bool = True) -> None:
        self._sources: list[tuple[str, Callable[[NDArray[Any]], Values], bool]] = []
        if hasattr(agent, "action_values"):
            self._sources.append((f"{name}, value", agent.action_values, False))
        elif hasattr(agent, "action_probabilities"):
            self._sources.append((f"{name}, probability", agent.action_probabilities, False))
        if exact and (values := exact_values(game)) is not None:
            meaning = "expected score" if isinstance(game, SlidingGame) else "with perfect play"
            self._sources.append((f"exact, {meaning}", values, True))
        self._kept: dict[bytes, list[Thought]] = {}  # a person goes back and forth

    def __bool__(self) -> bool:
        """Whether anything is thought at all."""
        return bool(self._sources)

    def of(self, position: Position) -> list[Thought]:
        """Return what is thought of a position; nothing once the game is over."""
        if position.over:
            return []
        seen = position.observation
        key = seen.tobytes()
        if key not in self._kept:
            legal = position.info["action_mask"].astype(np.bool_)
            if len(self._kept) >= 1 << 16:
                self._kept.clear()
            self._kept[key] = [
                Thought(name, np.where(legal, estimate(seen[None])[0], np.nan), is_exact)
                for name, estimate, is_exact in self._sources
            ]
        return self._kept[key]


def exact_values(game: Game) -> Callable[[NDArray[Any]], Values] | None:
    """Return a function that knows the exact values `(n, actions)` of positions, if there is one.

    Those of tic-tac-toe are 1, 0 and -1 for a win, a draw and a loss when both sides play on
    perfectly; those of small sliding games are expected scores under optimal play.
    """
    if isinstance(game, TicTacToe):
        return _perfect_play
    if is_solved_quickly(game):
        from baselines.solver.solve import solution_of  # late: it compiles

        return solution_of(game).action_values
    return None


def _perfect_play(observations: NDArray[Any]) -> Values:
    positions, codes = solve(), encode_seen(observations)
    marks = positions.to_move[codes, None]
    return (positions.value[positions.children[codes]] * marks).astype(np.float64)


def in_words(thoughts: Sequence[Thought], game: Game, chosen: int | None = None) -> list[str]:
    """Return thoughts as lines of text, with the action that is chosen, if any, in brackets.

    Those of tic-tac-toe stand as the cells do.
    """
    lines = []
    for thought in thoughts:
        words = []
        for action, name in enumerate(action_names(game)):
            value = thought.values[action]
            # A hyphen for none: the pictures' font has no dash.
            text = f"{name} {number(value) if math.isfinite(value) else '-'}"
            words.append(f"[{text}]" if action == chosen else text)
        if isinstance(game, TicTacToe):
            cells = [word.center(14) for word in words]
            rows = ["".join(cells[i : i + SIDE]).rstrip() for i in range(0, len(cells), SIDE)]
            lines += [f"{thought.name}:", *rows]
        else:
            lines.append(f"{thought.name}: {' · '.join(words)}")
    return lines


def action_names(game: Game) -> tuple[str, ...]:
    """Return the names of a game's actions."""
    return CELL_NAMES if isinstance(game, TicTacToe) else tuple(ACTIONS)


@dataclass
class Watched:
    """A game that goes on as long as it is asked for its next action.

    Attributes:
        playthrough: The game; whoever watches plays it.
        title: Who plays what.
        about: The environment and its options.
        seed: The seed of the game, or of the list of which it is the first.
        thinker: What is thought of its positions.
        action: Returns the action after n moves; None at the end of the game.
        end: How many moves it has, if that is known.
        player: The agent that plays; None of a recorded game.
    """

    playthrough: Playthrough
    title: str
    about: str
    seed: int
    thinker: Thinker
    action: Callable[[int], int | None]
    end: int | None = None
    player: Player | None = None

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

    The seed is that of the list; the options are added to those of the player's task.
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
            chosen, state = choose_actions(player.agent, observations, masks, state, first)
            actions.append(int(chosen[0]))
        return actions[n] if n < len(actions) else None

    thinker = Thinker(playthrough.env.game, player.agent, player.name)
    title = f"{player.name} plays {task.game.name}"
    about = _about(task.env, ({"opponent": "random"} if task.sides else {}) | options)
    return Watched(playthrough, title, about, seed, thinker, action, player=player)


def recorded_games(path: Path) -> Sequence[Watched]:
    """Return the games of a replay file, or of a folder of them."""
    paths = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not paths:
        raise UsageError(f"{path} holds neither a run nor recorded games (*.json).")
    return [_recorded_game(path) for path in paths]


def _recorded_game(path: Path) -> Watched:
    recorded = read(path)
    playthrough = begin(recorded)
    title = title_of(recorded, path.stem)
    about = _about(recorded.env, recorded.options)
    thinker = Thinker(playthrough.env.game, None, "")
    end = len(recorded.actions)
    return Watched(playthrough, title, about, recorded.seed, thinker, recorded.action, end)


def title_of(recorded: Replay, name: str) -> str:
    """Return the title of a replay that a file of this name holds."""
    return ", ".join(filter(None, (recorded.player, printable(name))))


def check_kind(games: Sequence[Watched]) -> None:
    """Check that games are of one kind, which can be shown together."""
    kinds = {str(watched.playthrough.env.game) for watched in games}
    if len(kinds) > 1:
        raise UsageError(f"a file shows games of one kind, got {', '.join(sorted(kinds))}.")


def _about(env: str, options: Mapping[str, Any]) -> str:
    return ", ".join([env, *(f"{name}={value}" for name, value in options.items())])
