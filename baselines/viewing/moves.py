"""Games to be watched, move by move: an agent's and recorded ones, with the values of moves."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from baselines.evaluation.rows import heading
from baselines.players import Player
from baselines.progress import Progress, number
from baselines.seeds import game_seeds
from baselines.solver.boards import is_solved_quickly
from tile_envs.agents import Agent, choose_actions
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Game, Observations
from tile_envs.games import make
from tile_envs.replay import Playthrough, Position, Replay, begin, read
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import ACTIONS
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELL_NAMES, SIDE, encode_seen, solve
from tile_envs.words import counted, printable

KEPT = 1 << 16  # the most positions whose values are kept
EXACT = "exact, "  # how the names of exact sources begin


class MoveValues:
    """The values of the actions in positions, by their source, such as "greedy, probability".

    Sources are the agent, if it has `action_values` or `action_probabilities`, and, with `exact`,
    what is known exactly of the game.  Values are `(actions,)`, NaN for illegal ones, and kept,
    since a person goes back and forth.
    """

    def __init__(self, game: Game, player: Player | None, exact: bool = True) -> None:
        self.game, self._kept = game, dict[bytes, dict[str, Floats]]()
        self.sources: dict[str, Callable[[Observations], Floats]] = {}
        for kind, method in (("value", "action_values"), ("probability", "action_probabilities")):
            if player and hasattr(player.agent, method) and not self.sources:
                self.sources[f"{player.name}, {kind}"] = getattr(player.agent, method)
        if exact and (known := exact_values(game)):
            meaning = "expected score" if isinstance(game, SlidingGame) else "with perfect play"
            self.sources[EXACT + meaning] = known

    def of(self, position: Position) -> dict[str, Floats]:
        """Return the values in a position by their source; none once the game is over."""
        if position.over:
            return {}
        seen, legal = position.observation, position.info["action_mask"] > 0
        if (key := seen.tobytes()) not in self._kept:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            found = {name: values(seen[None])[0] for name, values in self.sources.items()}
            self._kept[key] = {n: np.where(legal, values, np.nan) for n, values in found.items()}
        return self._kept[key]

    def lines(self, position: Position, chosen: int | None = None) -> list[str]:
        return in_words(self.of(position), self.game, chosen)


def exact_values(game: Game) -> Callable[[Observations], Floats] | None:
    """Return a function that knows the exact values `(n, actions)` of positions, if there is one.

    Those of small sliding games are expected scores under optimal play; those of tic-tac-toe are 1,
    0 and -1 for a win, a draw and a loss when both sides play on perfectly.
    """
    if is_solved_quickly(game):
        from baselines.solver.solve import solution_of  # late: it compiles

        return solution_of(game).action_values
    return _perfect_play if isinstance(game, TicTacToe) else None


def _perfect_play(observations: Observations) -> Floats:
    positions, codes = solve(), encode_seen(observations)
    values = positions.value[positions.children[codes]] * positions.to_move[codes, None]
    return values.astype(np.float64)


def in_words(values: Mapping[str, Floats], game: Game, chosen: int | None = None) -> list[str]:
    """Return values as lines of text, the chosen action in brackets; in tic-tac-toe as a board."""
    lines = []
    for source, of_actions in values.items():
        # A hyphen for none: the pictures' font has no dash.
        numbers = [number(v) if math.isfinite(v) else "-" for v in of_actions.tolist()]
        words = [f"{name} {v}" for name, v in zip(action_names(game), numbers, strict=True)]
        if chosen is not None:
            words[chosen] = f"[{words[chosen]}]"
        if isinstance(game, TicTacToe):
            rows = np.reshape([word.center(14) for word in words], (SIDE, SIDE)).tolist()
            lines += [f"{source}:", *("".join(row).rstrip() for row in rows)]
        else:
            lines.append(f"{source}: {' · '.join(words)}")
    return lines


def action_names(game: Game) -> tuple[str, ...]:
    return CELL_NAMES if isinstance(game, TicTacToe) else tuple(ACTIONS)


def ask(agent: Agent, position: Position, state: Any, is_first: bool) -> tuple[int, Any]:
    observations, masks = position.observation[None], position.info["action_mask"][None]
    actions, state = choose_actions(agent, observations, masks, state, np.array([is_first]))
    return int(actions[0]), state


@dataclass
class Viewing:
    """A game that is shown move by move, and goes on as long as it is asked for its next action."""

    playthrough: Playthrough  # whoever shows the game plays it
    title: str
    about: str  # the environment and its options
    seed: int  # of the game, or of the list of which it is the first
    actions: list[int]  # all of a recorded game, or those that a player has chosen so far
    player: Player | None = None  # of a recorded game there is none

    def __post_init__(self) -> None:
        self.values = MoveValues(self.playthrough.env.game, self.player)
        self._state: Any = None  # of a recurrent agent

    def action(self, n: int) -> int | None:
        """Return the action after n moves, wherever the game is; None at the end of the game."""
        position = self.playthrough.position
        if self.player and n == len(self.actions) and not position.over:
            action, self._state = ask(self.player.agent, position, self._state, is_first=n == 0)
            self.actions.append(action)
        return self.actions[n] if n < len(self.actions) else None

    def hints(self, position: Position) -> list[str]:
        """Return the values in a position, with the action that follows in brackets."""
        return self.values.lines(position, self.action(len(self.playthrough.actions)))

    def play_on(self) -> Playthrough:
        played = self.playthrough
        with Progress(self.title) as progress:
            while (action := self.action(n := len(played.actions))) is not None:
                played.play(action)
                progress.update(n + 1, counted(n + 1, "move"))
        return played


def agent_game(player: Player, seed: int, side: str | None = None) -> Viewing:
    """Return the first game of the list, of this seed, that `evaluate` plays."""
    task, options = player.task, player.options(player.sides_to_evaluate(side, exact=False)[0])
    (word,) = game_seeds(seed, 1, "evaluation").tolist()
    playthrough = Playthrough(make(task.env, options), word)
    about = heading(task.env, ({"opponent": "random"} if task.sides else {}) | options)
    return Viewing(playthrough, f"{player.name} plays {task.game.name}", about, seed, [], player)


def recorded_games(path: Path) -> list[Viewing]:
    paths = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not paths:
        raise UsageError(f"{path} holds neither a run nor recorded games (*.json).")
    games = []
    for path in paths:
        replay = read(path)
        about, title = heading(replay.env, replay.options), title_of(replay, path.stem)
        games.append(Viewing(begin(replay), title, about, replay.seed, [*replay.actions]))
    return games


def title_of(replay: Replay, name: str) -> str:
    return ", ".join(filter(None, (replay.player, printable(name))))


def check_kind(games: Sequence[Viewing]) -> None:
    kinds = {str(viewing.playthrough.env.game) for viewing in games}
    if len(kinds) > 1:
        raise UsageError(f"a file shows games of one kind, got {', '.join(sorted(kinds))}.")
