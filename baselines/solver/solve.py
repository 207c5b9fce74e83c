"""Solves small sliding games: the exact expected score of every reachable board, played optimally.

    state --(move)--> afterstate --(new tile)--> state ...

    V(s) = max over a (r + V(s')), 0 where no action is legal
    V(s') = Σ over new tiles  P(tile) · mean of V over the states with the tile on a possible cell

Boards are listed age by age (see `boards`), and then valued from the last age to the first.

For a goal, the same without rewards: the game ends with the goal, and V is 1 there.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from baselines.progress import Progress
from baselines.solver.boards import check_size, start_boards, tile_ages
from baselines.solver.keys import (
    afterstates_of,
    best_values,
    expected_values,
    keys_of,
    states_after,
)
from baselines.solver.solution import Layers, Solution
from tile_envs.base.compiled import Word
from tile_envs.base.random_stream import Words
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import game_tables, rows_of
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
    ages = tile_ages(game.rules)
    spawn = zip(game.distribution.tiles, game.distribution.probabilities, strict=True)
    new_tiles = [(Word(tile), probability, int(ages[tile])) for tile, probability in spawn]
    solution = Solution(game, *_boards(game, new_tiles), goal)
    _evaluate(solution, new_tiles)
    return solution


solution_of = lru_cache(maxsize=2)(solve)
"""Returns the solution of a game, solved once per process; see `solve`."""


def compile_steps(game: SlidingGame) -> None:
    """Compile what the solver needs, if that is not on disk yet, by a solution of no boards."""
    tables, nothing = game_tables(game), np.zeros(0, np.uint64)
    keys_of(tables, np.zeros((0, 4), np.uint64))
    afterstates_of(tables, states_after(tables, nothing, Word(1)))
    expected_values(tables, nothing, Word(1), nothing, np.zeros(0))
    best_values(tables, nothing, nothing, np.zeros(0), 1.0)


def _boards(game: SlidingGame, new_tiles: NewTiles) -> tuple[Layers, Layers]:
    """Return the states and the afterstates, with values of 0."""
    tables, (boards, _) = game_tables(game), start_boards(game)
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
    return Layers.of(states), Layers.of(afterstates)


def _distinct(keys: Words) -> Words:
    """Return the different keys, rising, as `np.unique` does, but many times faster."""
    keys.sort()
    is_first = np.append(True, keys[1:] != keys[:-1])
    distinct: Words = keys[is_first[: len(keys)]]
    return distinct


def _evaluate(solution: Solution, new_tiles: NewTiles) -> None:
    """Set the values of a solution, in place."""
    game, states, afterstates = solution.game, solution.states, solution.afterstates
    tables, weight = game_tables(game), float(solution.goal is None)
    if solution.goal is not None:
        states.values[states.boards(game.shape).max(axis=(1, 2)) >= game.last_tile] = 1.0
    with Progress(f"values of {game}", len(states)) as progress:
        for age in reversed(range(len(states.begins) - 1)):
            keys, values = afterstates.of_age(age)
            for tile, probability, raised in new_tiles if len(keys) else ():
                following = states.of_age(age + raised)
                values += probability * expected_values(tables, keys, tile, *following)
            state_keys, state_values = states.of_age(age)
            best = best_values(tables, state_keys, keys, values, weight)
            np.maximum(state_values, best, out=state_values)  # V is 1 at the goal
            progress.update(len(states) - int(states.begins[age]))
