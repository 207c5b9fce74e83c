"""Solves small sliding games: the exact expected score of every reachable board, played optimally.

    state --(move)--> afterstate --(new tile)--> state ...

    V(s) = max over a (r + V(s')), 0 where no action is legal
    V(s') = Σ over new tiles  P(tile) · mean of V over the states with the tile on a possible cell

All boards are listed from the start on, age by age (see `boards`): a move keeps the age, a new tile
raises it.  Then their values are found from the last age to the first.

For a goal, the same without rewards: the game ends with the goal, and V is 1 there.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.progress import Progress
from baselines.solver.boards import Values, check_size, start_boards, tile_ages
from baselines.solver.keys import add_expected, afterstates_of, best_values, keys_of, states_after
from baselines.solver.solution import Layers, Solution
from tile_envs.base.compiled import Word
from tile_envs.base.random_stream import Words
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import CELL_IN_LINE, GameTables, game_tables, rows_of
from tile_envs.sliding.packed.tables import CELL_BITS
from tile_envs.words import counted


def solve(game: SlidingGame | Any, goal: int | None = None) -> Solution:
    """Solve a sliding game, or that of an environment, on a board of at most 12 cells.

    Args:
        game: The game, or an environment of it.
        goal: The face of a tile: values are then the best probabilities to reach it, or a larger
            one, instead of expected scores.

    Raises:
        ValueError: If its boards do not fit into memory or cannot be listed, its placer is an
            object, or there is no such tile.
    """
    game = getattr(getattr(game, "unwrapped", None), "game", game)
    check_size(game)
    if goal is not None:
        game = replace(game, rules=replace(game.rules, goal=goal), terminate_at_goal=True)
    compile_steps(game)
    tables = game_tables(game)
    boards = _boards(game, tables)
    states, afterstates = (
        Layers(np.concatenate(keys), np.concatenate(values), np.cumsum([0, *map(len, keys)]))
        for keys, values in zip(boards, _values(game, tables, goal, *boards), strict=True)
    )
    return Solution(game, states, afterstates, goal)


solution_of = lru_cache(maxsize=2)(solve)
"""Returns the solution of a game, solved once per process; see `solve`."""


def compile_steps(game: SlidingGame) -> None:
    """Compile what the solver needs, if that is not on disk yet, by a solution of no boards."""
    tables, nothing = game_tables(game), np.zeros(0, np.uint64)
    keys_of(tables, np.zeros((0, 4), np.uint64))
    afterstates_of(tables, states_after(tables, nothing, Word(1)))
    add_expected(tables, nothing, Word(1), 1.0, nothing, np.zeros(0), np.zeros(0))
    best_values(tables, nothing, nothing, np.zeros(0), 1.0)


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
    game: SlidingGame,
    tables: GameTables,
    goal: int | None,
    states: list[Words],
    afterstates: list[Words],
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
            weight = 1.0 if goal is None else 0.0
            state_values[age] = best_values(tables, states[age], afterstates[age], values, weight)
            if goal is not None:
                state_values[age][_hold_goal(game, states[age])] = 1.0
            done += len(states[age])
            progress.update(done)
    return state_values, afterstate_values


def _hold_goal(game: SlidingGame, keys: Words) -> NDArray[np.bool_]:
    holding = np.zeros(len(keys), np.bool_)
    for cell in range(math.prod(game.shape)):
        holding |= (keys >> np.uint64(cell * CELL_BITS) & CELL_IN_LINE) >= game.last_tile
    return holding
