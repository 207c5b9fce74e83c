"""Solves small sliding games: the exact expected score of every reachable board, played optimally.

    state --(move)--> afterstate --(new tile)--> state ...

    V(s) = max over a (r + V(s')), 0 where no action is legal
    V(s') = Σ over new tiles  P(tile) · mean of V over the states with the tile on a possible cell

Boards are listed age by age (see `boards`), and then valued from the last age to the first.

For a goal, the same without rewards: the game ends with the goal, and V is 1 there.
"""

import math
from dataclasses import replace
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
from tile_envs.sliding.packed.kernels import CELL_IN_LINE, GameTables, game_tables, rows_of
from tile_envs.sliding.packed.tables import CELL_BITS
from tile_envs.words import counted

NewTiles = list[tuple[Word, float, int]]
"""The tiles that appear, their probabilities, and by how much they raise the age."""


def solve(game: SlidingGame | Any, goal: int | None = None) -> Solution:
    """Solve a sliding game, or that of an environment, on a board of at most 12 cells.

    Args:
        game: The game, or an environment of it.
        goal: The face of a tile: values are then the best probabilities to reach it, or a larger
            one, instead of expected scores.
    """
    game = getattr(getattr(game, "unwrapped", None), "game", game)
    check_size(game)
    if goal is not None:
        game = replace(game, rules=replace(game.rules, goal=goal), terminate_at_goal=True)
    compile_steps(game)
    tables, ages = game_tables(game), tile_ages(game.rules)
    spawn = zip(game.distribution.tiles, game.distribution.probabilities, strict=True)
    new_tiles = [(Word(tile), probability, int(ages[tile])) for tile, probability in spawn]
    boards = _boards(game, tables, new_tiles)
    values = _values(game, tables, new_tiles, goal, *boards)
    states, afterstates = (
        Layers(np.concatenate(keys), np.concatenate(known), np.cumsum([0, *map(len, keys)]))
        for keys, known in zip(boards, values, strict=True)
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


def _boards(
    game: SlidingGame, tables: GameTables, new_tiles: NewTiles
) -> tuple[list[Words], list[Words]]:
    """Return the keys of the states and of the afterstates of each age."""
    boards, _ = start_boards(game)
    start_ages = tile_ages(game.rules)[boards].sum(axis=(1, 2))
    start_keys = keys_of(tables, rows_of(game, boards))
    states: list[Words] = []
    afterstates: list[Words] = []
    last = int(start_ages.max())
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
            n = sum(map(len, states))
            progress.update(n, counted(n, "board"))
    return states, afterstates


def _distinct(keys: Words) -> Words:
    """Return the different keys, rising, as `np.unique` does, but many times faster."""
    keys.sort()
    is_first = np.append(True, keys[1:] != keys[:-1])
    distinct: Words = keys[is_first[: len(keys)]]
    return distinct


def _values(
    game: SlidingGame,
    tables: GameTables,
    new_tiles: NewTiles,
    goal: int | None,
    states: list[Words],
    afterstates: list[Words],
) -> tuple[list[Values], list[Values]]:
    """Return the values of the states and of the afterstates of each age."""
    state_values = [np.zeros(0)] * len(states)
    afterstate_values = [np.zeros(len(keys)) for keys in afterstates]
    cells = [np.uint64(cell * CELL_BITS) for cell in range(math.prod(game.shape))]
    with Progress(f"values of {game}", sum(map(len, states))) as progress:
        for age in reversed(range(len(states))):
            keys, values = afterstates[age], afterstate_values[age]
            for tile, probability, raised in new_tiles if len(keys) else ():
                following = states[age + raised], state_values[age + raised]
                add_expected(tables, keys, tile, probability, *following, values)
            weight = 1.0 if goal is None else 0.0
            state_values[age] = best_values(tables, states[age], keys, values, weight)
            if goal is not None:
                tiles = (states[age] >> cell & CELL_IN_LINE for cell in cells)
                state_values[age][np.any([tile >= game.last_tile for tile in tiles], axis=0)] = 1.0
            progress.update(sum(map(len, states[age:])))
    return state_values, afterstate_values
