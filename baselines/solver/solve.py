"""Solves small sliding games: the exact expected score of every reachable board, played optimally.

    state --(move)--> afterstate --(new tile)--> state ...

    V(s) = max over a (r + V(s')), 0 where no action is legal
    V(s') = Σ over new tiles  P(tile) · mean of V over the states with the tile on a possible cell

All boards are listed from the start on, age by age (see `boards`): a move keeps the age, a new tile
raises it.  Then their values are found from the last age to the first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from baselines.progress import Progress
from baselines.solver.boards import Values, check_size, start_boards, tile_ages
from baselines.solver.keys import add_expected, afterstates_of, best_values, keys_of, states_after
from baselines.solver.solution import Layers, Solution
from tile_envs.base.compiled import Word
from tile_envs.base.random_stream import Words
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import GameTables, game_tables, rows_of
from tile_envs.words import counted


def solve(game: SlidingGame | Any) -> Solution:
    """Solve a sliding game, or that of an environment, on a board of at most 12 cells.

    Raises:
        ValueError: If its boards do not fit into memory or cannot be listed, or its placer is an
            object.
    """
    game = getattr(getattr(game, "unwrapped", None), "game", game)
    check_size(game)
    compile_steps(game)
    tables = game_tables(game)
    boards = _boards(game, tables)
    layers = [
        Layers(np.concatenate(keys), np.concatenate(values), np.cumsum([0, *map(len, keys)]))
        for keys, values in zip(boards, _values(game, tables, *boards), strict=True)
    ]
    return Solution(game, *layers)


solution_of = lru_cache(maxsize=2)(solve)
"""Returns the solution of a game, solved once per process; see `solve`."""


def compile_steps(game: SlidingGame) -> None:
    """Compile what the solver needs, if that is not on disk yet, by a solution of no boards."""
    tables, nothing = game_tables(game), np.zeros(0, np.uint64)
    keys_of(tables, np.zeros((0, 4), np.uint64))
    afterstates_of(tables, states_after(tables, nothing, Word(1)))
    add_expected(tables, nothing, Word(1), 1.0, nothing, np.zeros(0), np.zeros(0))
    best_values(tables, nothing, nothing, np.zeros(0))


def _new_tiles(game: SlidingGame) -> list[tuple[Word, float, int]]:
    """Return the tiles that appear, their probabilities, and by how much they raise the age."""
    tiles, probabilities = game.distribution.tiles, game.distribution.probabilities
    ages = tile_ages(game.rules)[list(tiles)].tolist()
    return list(zip(map(Word, tiles), probabilities, ages, strict=True))


def _boards(game: SlidingGame, tables: GameTables) -> tuple[list[Words], list[Words]]:
    boards, _ = start_boards(game)
    start_ages = tile_ages(game.rules)[boards].sum(axis=(1, 2))
    start_keys = keys_of(tables, rows_of(game, boards))
    new_tiles = _new_tiles(game)
    states: list[Words] = []
    afterstates: list[Words] = []
    last = int(start_ages.max())
    done = 0
    with Progress(f"boards of {game}") as progress:
        while (age := len(states)) <= last:
            following = [
                states_after(tables, afterstates[age - raised], tile)
                for tile, _, raised in new_tiles
                if raised <= age
            ]
            states.append(_distinct(np.concatenate([start_keys[start_ages == age], *following])))
            afterstates.append(_distinct(afterstates_of(tables, states[age])))
            if len(afterstates[age]):
                last = max(last, age + max(raised for _, _, raised in new_tiles))
            done += len(states[age])
            progress.update(done, counted(done, "board"))
    return states, afterstates


def _distinct(keys: Words) -> Words:
    """Return the different keys, rising, as `np.unique` does, but many times faster."""
    keys.sort()
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    return keys[is_first]


def _values(
    game: SlidingGame, tables: GameTables, states: list[Words], afterstates: list[Words]
) -> tuple[list[Values], list[Values]]:
    state_values = [np.zeros(0)] * len(states)
    afterstate_values = [np.zeros(0)] * len(states)
    new_tiles = _new_tiles(game)
    done = 0
    with Progress(f"values of {game}", sum(map(len, states))) as progress:
        for age in reversed(range(len(states))):
            values = np.zeros(len(afterstates[age]))
            if len(values):
                for tile, probability, raised in new_tiles:
                    following = states[age + raised], state_values[age + raised]
                    add_expected(tables, afterstates[age], tile, probability, *following, values)
            afterstate_values[age] = values
            state_values[age] = best_values(tables, states[age], afterstates[age], values)
            done += len(states[age])
            progress.update(done)
    return state_values, afterstate_values
