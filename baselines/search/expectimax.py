"""Expectimax: a value made deeper by looking at every move and every new tile, exactly weighted.

A search of depth p looks at p moves of the player, with all that chance may do between them: depth
1 is the greedy player on afterstates, depth 2 is max, chance, max.  The value of an afterstate with
q moves to look at is

    A(s, 0) = V(s),    A(s, q) = Σ P(tile) / (empty cells) · max over moves (r + A(s', q - 1)),

0 where no move is left.  V is that of any agent that plays by values; what it says an action is
worth holds the reward.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from baselines.agent import Observations, ValueAgent
from baselines.ntuple.learning import NTuple
from baselines.search.compiled import CompiledSearch
from tile_envs.checks import as_integer, checked_count
from tile_envs.sliding.boards import checked_boards
from tile_envs.sliding.env import SlidingEnv
from tile_envs.sliding.rules import ACTIONS
from tile_envs.sliding.tables import CELLS

DEEPEST = 100

Search = Callable[[Observations, NDArray[np.int64]], NDArray[np.float64]]
"""Says of boards `(n, R, C)` what each action is worth, looking at so many moves `(n,)`."""


class Expectimax(ValueAgent):
    """Searches with the values of another agent.

    Args:
        agent: Whose values; with those of an n-tuple network the search is compiled code.
        env: The game, whose law of new tiles is searched by.
        depth: How many moves of the player are looked at, at least 1.
        deeper: Depths for boards with few empty cells: `{3: 4}` looks at 4 moves where at most 3
            cells are empty.
        milliseconds: If given, each move deepens its search from 1 on, up to `depth`, for as long
            as the next depth is expected to end within so many milliseconds.
        memory_bits: What a compiled search has found is kept in a table of 2 to this power of
            entries, 20 bytes each, for each thread.
        threads: How many boards are searched at once.
        samples: If above 0, so many new tiles are drawn for each afterstate instead of weighing
            all, from random numbers that are the same in each run; the search is not compiled then.

    Raises:
        ValueError: If a number is outside its range, or the game is none with tiles that slide.
    """

    def __init__(
        self,
        agent: ValueAgent,
        env: gym.Env[Any, Any],
        depth: int = 2,
        deeper: Mapping[int, int] | None = None,
        milliseconds: float | None = None,
        memory_bits: int = 20,
        threads: int = 1,
        samples: int = 0,
    ) -> None:
        if milliseconds is not None and not (
            isinstance(milliseconds, Real)
            and not isinstance(milliseconds, bool)
            and 0 < milliseconds < math.inf
        ):
            raise ValueError(f"milliseconds must be above 0 and finite, got {milliseconds!r}.")
        if not 1 <= checked_count(memory_bits, "memory_bits") <= 30:
            raise ValueError(f"memory_bits must be from 1 to 30, got {memory_bits!r}.")
        if not isinstance(deeper or {}, Mapping):
            raise ValueError(f'deeper must be a mapping such as {{"3": 4}}, got {deeper!r}.')
        self._depths = np.full(CELLS + 1, _checked_depth(depth))
        for empty, at_depth in sorted((deeper or {}).items(), key=lambda pair: -_whole(pair[0])):
            if not 0 <= _whole(empty) <= CELLS:
                raise ValueError(f"a board has 0 to {CELLS} empty cells, got {empty!r}.")
            self._depths[: _whole(empty) + 1] = _checked_depth(at_depth)
        game = env.unwrapped
        if not isinstance(game, SlidingEnv):
            raise ValueError("a search by chance plays the sliding games, not tic-tac-toe.")
        self._game, self._milliseconds = game, milliseconds
        weighs_all = _checked_samples(samples) == 0
        self._searches: list[Search] = [
            CompiledSearch(agent, game, memory_bits)
            if isinstance(agent, NTuple) and weighs_all
            else BatchedSearch(agent, game, samples, rng)
            for rng in np.random.default_rng(0).spawn(checked_count(threads, "threads"))
        ]
        self._pool = ThreadPoolExecutor(threads)

    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return what each action is worth, reward included, `(n, 4)`; minus infinity if illegal.

        Raises:
            ValueError: If these are not boards of the game and shape.
        """
        boards = checked_boards(observations, self._game.rules)
        depths = self._depths[(boards == 0).sum(axis=(1, 2))]
        n = len(self._searches)
        parts = zip(np.array_split(boards, n), np.array_split(depths, n), strict=True)
        values = self._pool.map(self._search, self._searches, *zip(*parts, strict=True))
        return np.concatenate(list(values))

    def _search(
        self, search: Search, boards: Observations, depths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if self._milliseconds is None:
            return search(boards, depths)
        found = [np.zeros((0, len(ACTIONS)))]
        for board, deepest in zip(boards[:, None], depths, strict=True):
            found.append(_search_in_time(search, board, int(deepest), self._milliseconds))
        return np.concatenate(found)


class BatchedSearch:
    """Searches all boards together, move by move, so that many values are asked for at once.

    Args:
        agent: Whose values.
        env: The game.
        samples: How many new tiles are drawn for an afterstate; 0 is none: all are weighed.
        rng: By what they are drawn.
    """

    def __init__(
        self, agent: ValueAgent, env: SlidingEnv, samples: int, rng: np.random.Generator
    ) -> None:
        self._agent, self._env, self._samples, self._rng = agent, env, samples, rng

    def __call__(self, boards: Observations, depths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what each action is worth, looking at so many moves `(n,)`; see `Expectimax`."""
        values = np.zeros((len(boards), len(ACTIONS)))
        for depth in np.unique(depths):
            values[depths == depth] = self._worths(boards[depths == depth], int(depth))
        return values

    def _worths(self, boards: Observations, depth: int) -> NDArray[np.float64]:
        """Return what each action is worth on boards, `(n, 4)`."""
        if depth == 1:
            return self._agent.values(boards)
        after, rewards, masks = self._env.afterstates(boards)
        legal = masks > 0
        worths = np.where(legal, rewards, -np.inf)
        for action in range(len(ACTIONS)):  # not all at once: that would take much memory
            here = legal[:, action]
            worths[here, action] += self._afterstate_values(after[here, action], depth - 1)
        return worths

    def _afterstate_values(self, after: Observations, left: int) -> NDArray[np.float64]:
        """Return A(s, left) of afterstates, `(n,)`; see the module."""
        values = np.zeros(len(after))
        for parents, following, weights in self._new_tiles(after):
            best = self._worths(following, left).max(axis=1, initial=-np.inf)
            best = np.where(best > -np.inf, best, 0.0)
            values += np.bincount(parents, weights * best, len(after))
        return values

    def _new_tiles(
        self, after: Observations
    ) -> Iterator[tuple[NDArray[np.int64], Observations, NDArray[np.float64]]]:
        """Yield what may follow afterstates: whose it is, the boards, and the weight of each."""
        law, everyone = self._env.law, np.arange(len(after))
        parents, rows, columns = np.nonzero(after == 0)
        empty = np.bincount(parents, minlength=len(after))
        if self._samples:
            for _ in range(self._samples):
                drawn = empty.cumsum() - 1 - self._rng.integers(empty)
                following = after.copy()
                tiles = self._rng.choice(law.tiles, len(after), p=law.probabilities)
                following[everyone, rows[drawn], columns[drawn]] = tiles
                yield everyone, following, np.full(len(after), 1 / self._samples)
        else:
            for tile, probability in zip(law.tiles, law.probabilities, strict=True):
                following = after[parents]
                following[np.arange(len(parents)), rows, columns] = tile
                yield parents, following, probability / empty[parents]


def _search_in_time(
    search: Search, board: Observations, deepest: int, milliseconds: float
) -> NDArray[np.float64]:
    """Search one board `(1, R, C)` deeper and deeper, for as long as there is time."""
    end = time.perf_counter() + milliseconds / 1000
    last, growth = 0.0, 15.0  # how much longer the next depth takes, until that is known
    values = np.zeros((1, len(ACTIONS)))
    for depth in range(1, deepest + 1):
        began = time.perf_counter()
        if depth > 1 and began + last * growth > end:
            break
        values = search(board, np.array([depth]))
        taken = time.perf_counter() - began
        if depth > 2:  # the first two are too short to tell
            growth = max(2.0, taken / last)
        last = taken
    return values


def _checked_depth(depth: Any) -> int:
    moves = as_integer(depth)
    if moves is None or not 1 <= moves <= DEEPEST:
        raise ValueError(f"a search looks at 1 to {DEEPEST} moves, got {depth!r}.")
    return moves


def _checked_samples(samples: Any) -> int:
    tiles = as_integer(samples)
    if tiles is None or tiles < 0:
        raise ValueError(f"samples must be a whole number of new tiles, or 0, got {samples!r}.")
    return tiles


def _whole(empty: Any) -> int:
    """Return a number of empty cells; JSON has it as text.  -1 if it is none."""
    text = str(empty)
    return int(text) if text.isdecimal() else -1
