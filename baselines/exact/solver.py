"""Solves small sliding games: the exact expected score of every reachable board, played optimally.

    state --(move)--> afterstate --(new tile)--> state ...

    V(s) = max over a (r + V(s')), 0 where no action is legal
    V(s') = Σ over new tiles  P(tile) · mean of V over the states with the tile on a possible cell

All boards are listed from the start on, age by age (see `keys`): a move keeps the age, a new tile
raises it.  Then their values are found from the last age to the first.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from tqdm import tqdm

from baselines.exact.keys import distinct, keys_of, tile_ages
from baselines.exact.layers import (
    Values,
    add_expected,
    afterstates_of,
    best_values,
    states_after,
)
from baselines.exact.size import check_size
from baselines.exact.solution import Layers, Solution
from baselines.exact.start import start_boards
from tile_envs.random_stream import Words
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.kernels import GameTables, Word, game_tables, rows_of

SILENT_SECONDS = 3
"""A solver that takes longer shows a progress bar."""


def solve(game: SlidingGame) -> Solution:
    """Solve a small sliding game.

    Args:
        game: The game, its board of at most 12 cells.

    Raises:
        ValueError: If its boards do not fit into memory or cannot be listed, or its placer is an
            object.
    """
    check_size(game)
    tables = game_tables(game)
    states, afterstates = _boards(game, tables)
    state_values, afterstate_values = _values(game, tables, states, afterstates)
    return Solution(
        game, Layers.of(states, state_values), Layers.of(afterstates, afterstate_values)
    )


@lru_cache(maxsize=2)
def solution_of(game: SlidingGame) -> Solution:
    """Return the solution of a game, solved once per process; see `solve`."""
    return solve(game)


class _New:
    """A new tile: its index, its probability, and by how much it raises the age."""

    def __init__(self, game: SlidingGame, tile: int, probability: float) -> None:
        self.tile, self.probability = Word(tile), probability
        self.age = int(tile_ages(game.rules)[tile])


def _new_tiles(game: SlidingGame) -> list[_New]:
    known = game.distribution
    return [_New(game, *each) for each in zip(known.tiles, known.probabilities, strict=True)]


def _boards(game: SlidingGame, tables: GameTables) -> tuple[list[Words], list[Words]]:
    """List the keys of all reachable states and afterstates, by age."""
    boards, _ = start_boards(game)
    start_ages = tile_ages(game.rules)[boards].sum(axis=(1, 2))
    start_keys = keys_of(tables, rows_of(game, boards))
    new_tiles = _new_tiles(game)
    states: list[Words] = []
    afterstates: list[Words] = []
    last = int(start_ages.max())
    with tqdm(desc=f"boards of {game}", unit=" boards", delay=SILENT_SECONDS, leave=False) as bar:
        while (age := len(states)) <= last:
            following = [
                states_after(tables, afterstates[age - new.age], new.tile)
                for new in new_tiles
                if new.age <= age
            ]
            states.append(distinct(np.concatenate([start_keys[start_ages == age], *following])))
            afterstates.append(distinct(afterstates_of(tables, states[age])))
            if len(afterstates[age]):
                last = max(last, age + max(new.age for new in new_tiles))
            bar.update(len(states[age]))
    return states, afterstates


def _values(
    game: SlidingGame, tables: GameTables, states: list[Words], afterstates: list[Words]
) -> tuple[list[Values], list[Values]]:
    """Return the values of all states and afterstates, by age."""
    state_values = [np.zeros(0)] * len(states)
    afterstate_values = [np.zeros(0)] * len(states)
    new_tiles = _new_tiles(game)
    total = sum(map(len, states))
    with tqdm(
        desc=f"values of {game}", total=total, unit=" boards", delay=SILENT_SECONDS, leave=False
    ) as bar:
        for age in reversed(range(len(states))):
            values = np.zeros(len(afterstates[age]))
            if len(values):
                for new in new_tiles:
                    after = age + new.age
                    known = states[after], state_values[after]
                    chance = new.tile, new.probability
                    add_expected(tables, afterstates[age], *chance, *known, values)
            afterstate_values[age] = values
            state_values[age] = best_values(tables, states[age], afterstates[age], values)
            bar.update(len(states[age]))
    return state_values, afterstate_values
