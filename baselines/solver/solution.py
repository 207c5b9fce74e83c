"""The solution of a small sliding game: the exact value of every reachable board, by key."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baselines.arrays import read_arrays, write_arrays
from baselines.solver.boards import (
    BYTES_PER_BOARD,
    Boards,
    Values,
    most_boards,
    start_boards,
    tile_ages,
)
from baselines.solver.keys import count_boards, keys_of, values_of
from tile_envs.base.random_stream import Words
from tile_envs.errors import UsageError
from tile_envs.sliding.boards import checked_boards
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.kernels import game_tables, rows_of
from tile_envs.sliding.packed.tables import CELL_BITS, CELL_MASK

FILE, PARTS = "solution.npz", ("states", "afterstates")


@dataclass(frozen=True, eq=False)
class Layers:
    """Boards and their values, age by age."""

    keys: Words  # `(n,)`, those of one age are rising
    values: Values  # `(n,)`
    begins: NDArray[np.int64]  # `(ages + 1,)`, where each age begins, and the last one ends

    def __post_init__(self) -> None:
        # Compiled code indexes by them.
        if not 0 <= self.begins.min() <= self.begins.max() <= len(self.keys) == len(self.values):
            raise UsageError("boards and values do not belong together")

    @classmethod
    def of(cls, keys: Sequence[Words]) -> Layers:
        """Return the boards of each age, with values of 0."""
        begins = np.cumsum([0, *map(len, keys)])
        return cls(np.concatenate(keys), np.zeros(begins[-1]), begins)

    def of_age(self, age: int) -> tuple[Words, Values]:
        """Return the keys and the values of an age."""
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

    def state_values(self, boards: ArrayLike) -> Values:
        """Return V(s) `(n,)` of states `(n, R, C)`, NaN for those that play cannot reach."""
        return self._looked_up(self.states, boards)

    def afterstate_values(self, boards: ArrayLike) -> Values:
        """Return V(s') `(n,)` of afterstates `(n, R, C)`, as `state_values`."""
        return self._looked_up(self.afterstates, boards)

    def action_values(self, boards: ArrayLike) -> NDArray[np.float64]:
        """Return r + V(s') of each action, `(n, 4)`, in states `(n, R, C)`.

        It is minus infinity for illegal actions, and NaN in states that play cannot reach.
        """
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
        tables = game_tables(self.game)
        return count_boards(tables, self.states.keys), count_boards(tables, self.afterstates.keys)

    def save(self, folder: Path) -> None:
        """Write the solution to a folder; one for a goal is not kept."""
        if self.goal is not None:
            raise UsageError(f"a solution for a goal is not kept, got goal={self.goal}.")
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {"game": np.frombuffer(self.game.to_json().encode(), np.uint8)}
        for part in PARTS:
            arrays |= {f"{part}_{key}": value for key, value in vars(getattr(self, part)).items()}
        write_arrays(folder / FILE, arrays)

    @classmethod
    def load(cls, folder: Path, game: SlidingGame) -> Solution:
        """Read the solution of a game from a folder."""
        path = folder / FILE
        if not path.exists():
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
        return cls(game, states, afterstates)

    def _looked_up(self, layers: Layers, boards: ArrayLike) -> Values:
        checked = checked_boards(boards, self.game.rules)
        keys = keys_of(game_tables(self.game), rows_of(self.game, checked))
        ages = tile_ages(self.game.rules)[checked].sum(axis=(1, 2))
        return values_of(layers.keys, layers.values, layers.begins, keys, ages)
