"""Solves small sliding games: the exact expected score of every reachable board, played optimally.

    state --(move)--> afterstate --(new tile)--> state ...

    V(s) = max over a (r + V(s')), 0 where no action is legal
    V(s') = Σ over new tiles  P(tile) · mean of V over the states with the tile on a possible cell

Boards are listed age by age (see `boards`), and then valued from the last age to the first.

For a goal, the same without rewards: the game ends with the goal, and V is 1 there.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from baselines.arrays import read_arrays, write_arrays
from baselines.progress import Progress
from baselines.solver import keys as steps
from baselines.solver.boards import (
    BYTES_PER_BOARD,
    check_size,
    most_boards,
    start_boards,
    tile_ages,
)
from tile_envs.base.compiled import Word
from tile_envs.base.random_stream import Words
from tile_envs.errors import UsageError
from tile_envs.game import Boards, Floats, Ints
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import game_tables, rows_of
from tile_envs.sliding.packed.tables import CELL_BITS, CELL_MASK
from tile_envs.words import counted

NewTiles = list[tuple[Word, float, int]]
"""The tiles that appear, their probabilities, and by how much they raise the age."""
FILE, PARTS = "solution.npz", ("states", "afterstates")


@dataclass(frozen=True, eq=False)
class Layers:
    """Boards and their values, age by age."""

    keys: Words  # `(n,)`, those of one age are rising
    values: Floats  # `(n,)`
    begins: Ints  # `(ages + 1,)`, where each age begins, and the last one ends

    def __post_init__(self) -> None:
        # Compiled code indexes by them.
        kinds = [array.dtype.str[1:] for array in (self.keys, self.values, self.begins)]
        if kinds != ["u8", "f8", "i8"]:
            raise UsageError(f"boards, values and where ages begin are {', '.join(kinds)}")
        if not 0 <= self.begins.min() <= self.begins.max() <= len(self.keys) == len(self.values):
            raise UsageError("boards and values do not belong together")

    def are_rising(self) -> bool:
        """Whether the keys of each age rise, among which they are searched."""
        rising, begins = self.keys[1:] > self.keys[:-1], self.begins
        rising[begins[(begins > 0) & (begins < len(self))] - 1] = True
        return bool(rising.all())

    @classmethod
    def of(cls, keys: Sequence[Words]) -> "Layers":
        begins = np.cumsum([0, *map(len, keys)], dtype=np.int64)
        return cls(np.concatenate(keys), np.zeros(begins[-1]), begins)

    def of_age(self, age: int) -> tuple[Words, Floats]:
        place = slice(*self.begins[age : age + 2])
        return self.keys[place], self.values[place]

    def __len__(self) -> int:
        return len(self.keys)

    def boards(self, shape: tuple[int, int]) -> Boards:
        """Return the boards `(n, R, C)`, one of each that are symmetric."""
        shifts = (np.uint64(cell * CELL_BITS) for cell in range(math.prod(shape)))
        tiles = [(self.keys >> shift & np.uint64(CELL_MASK)).astype(np.uint8) for shift in shifts]
        return np.stack(tiles, axis=1).reshape(-1, *shape)


@dataclass(frozen=True, eq=False)
class Solution:
    """The exact values of all states and afterstates that play can reach, symmetric ones merged.

        solution = solve(SlidingGame(RULES_2584, shape=(2, 3)))
        solution.state_values(boards)  # (n,)

    Values are expected scores under optimal play.  With a goal, the game ends there, and they are
    the best probabilities to reach that tile.
    """

    game: SlidingGame
    states: Layers
    afterstates: Layers
    goal: int | None = None

    def state_values(self, boards: ArrayLike) -> Floats:
        """Return V(s) `(n,)` of states `(n, R, C)`, NaN for those that play cannot reach."""
        return self._looked_up(self.states, boards)

    def afterstate_values(self, boards: ArrayLike) -> Floats:
        """Return V(s') `(n,)` of afterstates `(n, R, C)`, as `state_values`."""
        return self._looked_up(self.afterstates, boards)

    def action_values(self, boards: ArrayLike) -> Floats:
        """Return r + V(s') `(n, 4)`: minus infinity if illegal, NaN where play cannot get."""
        after, rewards, masks = self.game.afterstates(boards)
        values = self.afterstate_values(after.reshape(-1, *self.game.shape)).reshape(rewards.shape)
        values = np.where(masks > 0, values if self.goal else rewards + values, -np.inf)
        values[np.isnan(self.state_values(boards))] = np.nan
        return values

    @cached_property
    def start_value(self) -> float:
        """The expected score of a game under optimal play, or the probability of the goal."""
        boards, mass = start_boards(self.game)
        return float(mass @ self.state_values(boards))

    def counts(self) -> tuple[int, int]:
        """Return the numbers of reachable states and afterstates; each symmetric image counts."""
        tables, layers = game_tables(self.game), (self.states, self.afterstates)
        states, afterstates = (steps.count_boards(tables, each.keys) for each in layers)
        return states, afterstates

    def save(self, folder: Path) -> None:
        """Write the solution to a folder; one for a goal is not kept."""
        if self.goal is not None:
            raise UsageError(f"a solution for a goal is not kept, got goal={self.goal}.")
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {"game": np.frombuffer(self.game.to_json().encode(), np.uint8)}
        for part in PARTS:
            arrays |= {f"{part}_{key}": value for key, value in vars(getattr(self, part)).items()}
        write_arrays(folder / FILE, arrays.items())

    @classmethod
    def load(cls, folder: Path, game: SlidingGame) -> "Solution":
        if not (path := folder / FILE).exists():
            raise UsageError(f"{folder} holds no solution: make one with solve --out.")
        arrays = read_arrays(path, most_boards(game) * BYTES_PER_BOARD + (1 << 20))  # and the game
        try:
            other = SlidingGame(**json.loads(arrays["game"].tobytes()))
            states, afterstates = (
                Layers(*(arrays[f"{part}_{name}"] for name in Layers.__annotations__))
                for part in PARTS
            )
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise UsageError(f"{path} is damaged: {error}.") from error
        if other != game:
            raise UsageError(
                f"{path} is the solution of {other}, or of {game} with another spawn distribution, "
                "start or placer: give another folder."
            )
        if not (states.are_rising() and afterstates.are_rising()):
            raise UsageError(f"{path} is damaged: its boards and values do not belong together.")
        return cls(game, states, afterstates)

    def _looked_up(self, layers: Layers, boards: ArrayLike) -> Floats:
        found = _keys_and_ages(self.game, self.game.rules.checked_boards(boards))
        return steps.values_of(layers.keys, layers.values, layers.begins, *found)


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
    ages = tile_ages(game.rules)
    spawn = zip(game.distribution.tiles, game.distribution.probabilities, strict=True)
    new_tiles = [(Word(tile), probability, int(ages[tile])) for tile, probability in spawn]
    solution = Solution(game, *_boards(game, new_tiles), goal)
    _evaluate(solution, new_tiles)
    return solution


solution_of = lru_cache(maxsize=2)(solve)
"""Returns the solution of a game, solved once per process; see `solve`."""


def _boards(game: SlidingGame, new_tiles: NewTiles) -> tuple[Layers, Layers]:
    tables = game_tables(game)
    start_keys, start_ages = _keys_and_ages(game, start_boards(game)[0])
    states, afterstates = list[Words](), list[Words]()
    last = int(start_ages.max())
    with Progress(f"boards of {game}") as progress:
        while (age := len(states)) <= last:
            following = [
                steps.states_after(tables, afterstates[age - raised], tile)
                for tile, _, raised in new_tiles
                if raised <= age
            ]
            states.append(_distinct(np.concatenate([start_keys[start_ages == age], *following])))
            afterstates.append(_distinct(steps.afterstates_of(tables, states[age])))
            if len(afterstates[age]):
                last = max(last, age + max(raised for _, _, raised in new_tiles))
            n = sum(map(len, states))
            progress.update(n, counted(n, "board"))
    return Layers.of(states), Layers.of(afterstates)


def _keys_and_ages(game: SlidingGame, boards: Boards) -> tuple[Words, Ints]:
    keys = steps.keys_of(game_tables(game), rows_of(game, boards))
    return keys, tile_ages(game.rules)[boards].sum(axis=(1, 2))


def _distinct(keys: Words) -> Words:
    """Return the different keys, rising, many times faster than `np.unique`."""
    keys.sort()
    is_first = np.append(True, keys[1:] != keys[:-1])
    return np.asarray(keys[is_first[: len(keys)]])


def _evaluate(solution: Solution, new_tiles: NewTiles) -> None:
    game, states, afterstates = solution.game, solution.states, solution.afterstates
    tables, weight = game_tables(game), float(solution.goal is None)
    if solution.goal is not None:
        states.values[states.boards(game.shape).max(axis=(1, 2)) >= game.last_tile] = 1.0
    with Progress(f"values of {game}", len(states)) as progress:
        for age in reversed(range(len(states.begins) - 1)):
            keys, values = afterstates.of_age(age)
            for tile, probability, raised in new_tiles if len(keys) else ():
                following = states.of_age(age + raised)
                values += probability * steps.expected_values(tables, keys, tile, *following)
            state_keys, state_values = states.of_age(age)
            best = steps.best_values(tables, state_keys, keys, values, weight)
            np.maximum(state_values, best, out=state_values)  # V is 1 at the goal
            progress.update(len(states) - int(states.begins[age]))
