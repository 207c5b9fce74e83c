"""What agents think of the moves in a position, and what is exactly known of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_envs.game import Game
from tile_envs.replay import Position
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import ACTIONS
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELL_NAMES, SIDE, afterstates, encode_seen, solve
from tile_envs.words import number

Values = NDArray[np.float64]

SMALL = 6
"""The cells of the largest boards whose exact values are computed just to be shown."""
CELL_WIDTH = 14
KEPT = 1 << 16
"""Positions whose thoughts are kept: a person goes back and forth."""


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
    """Says what is thought of positions.

    Args:
        game: The game.
        agent: An agent with `action_values` or `action_probabilities`; anything else has no
            thoughts.
        name: The agent's name.
        exact: Whether to say, too, what is exactly known.
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
        self._kept: dict[bytes, list[Thought]] = {}

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
            if len(self._kept) >= KEPT:
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
    is_small = math.prod(game.shape) <= SMALL
    if is_small and isinstance(game, SlidingGame) and isinstance(game.placer, str):
        from baselines.solver.solve import solution_of  # late: it compiles

        return solution_of(game).action_values
    return None


def _perfect_play(observations: NDArray[Any]) -> Values:
    after, _, masks = afterstates(observations)
    n, n_actions = masks.shape
    codes = encode_seen(-after.reshape(-1, SIDE, SIDE)).reshape(n, n_actions)
    marks = solve().to_move[encode_seen(observations)]
    values: Values = (solve().value[codes] * marks[:, None]).astype(np.float64)
    return values


def in_words(thoughts: Sequence[Thought], game: Game, chosen: int | None = None) -> list[str]:
    """Return thoughts as lines of text; those of tic-tac-toe stand as the cells do.

    Args:
        thoughts: The thoughts.
        game: The game.
        chosen: The action that is played, if that is known: it stands in brackets.
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
            cells = [word.center(CELL_WIDTH) for word in words]
            rows = ["".join(cells[i : i + SIDE]).rstrip() for i in range(0, len(cells), SIDE)]
            lines += [f"{thought.name}:", *rows]
        else:
            lines.append(f"{thought.name}: {' · '.join(words)}")
    return lines


def action_names(game: Game) -> tuple[str, ...]:
    """Return the names of a game's actions."""
    return CELL_NAMES if isinstance(game, TicTacToe) else tuple(ACTIONS)
