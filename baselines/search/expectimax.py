"""Expectimax: values made deeper by looking at every move and every new tile, exactly weighted.

A search of depth p looks at p moves of the player, and at all new tiles between them: depth 1 is
the greedy player on afterstates, depth 2 is max, chance, max.  With q moves left to look at, the
value of an afterstate s' is

    A(s', 0) = V(s'),
    A(s', q) = Σ over new tiles  P(tile) / (number of its cells) · max over a (r + A(s'', q - 1)),

where action a leads from s' and its new tile to s'' with reward r; the max is 0 where no action is
legal.  The cells of a tile are those on which the game's placer may place it: all empty ones, if it
is chance.  V is that of any agent with action values, which include the reward.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Observations, ValueAgent
from baselines.ntuple.ntuple import NTuple
from baselines.search.compiled_expectimax import CompiledSearch
from tile_envs.base.checks import brief, checked_integer
from tile_envs.errors import UsageError
from tile_envs.game import Game, Replies
from tile_envs.sliding.boards import checked_boards
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.placer import RANDOM
from tile_envs.sliding.rules import MAX_SIDE

DEEPEST = 100
MOST_CELLS = MAX_SIDE**2

Search = Callable[[Observations, NDArray[np.int64]], NDArray[np.float64]]
"""Returns the action values `(n, 4)` of boards `(n, R, C)`, searched to depths `(n,)`."""


class Expectimax(ValueAgent):
    """Searches with the values of another agent.

    Args:
        agent: The agent whose values are searched with; with an n-tuple network and a named placer
            the search is compiled code.
        game: The game, whose spawn distribution weights the new tiles and whose placer places them.
        depth: The number of moves of the player that are looked at, at least 1.
        deeper: Depths for boards with few empty cells: `{3: 4}` looks at 4 moves where at most 3
            cells are empty.
        milliseconds: Time for a move.  If given, each search deepens from 1 up to `depth`, as long
            as the next depth is expected to end in time.
        threads: The number of boards that are searched at once.
        samples: If above 0, the number of new tiles that are drawn for each afterstate, instead of
            weighting all, by random numbers that are the same in each run; the search is not
            compiled then.  Only for new tiles that are placed uniformly.

    Attributes:
        depends_on: What its moves depend on besides the board; "" if they do not.

    Raises:
        ValueError: If a number is outside its range, the game is not a sliding game, or tiles
            cannot be drawn because a placer chooses their cells.
    """

    def __init__(
        self,
        agent: ValueAgent,
        game: Game,
        depth: int = 2,
        deeper: Mapping[int, int] | None = None,
        milliseconds: float | None = None,
        threads: int = 1,
        samples: int = 0,
    ) -> None:
        if milliseconds is not None and not (
            isinstance(milliseconds, Real) and 0 < milliseconds < math.inf
        ):
            raise UsageError(f"milliseconds must be above 0 and finite, got {milliseconds!r}.")
        if not isinstance(deeper or {}, Mapping):
            raise UsageError(f'deeper must be a mapping such as {{"3": 4}}, got {deeper!r}.')
        depths = {MOST_CELLS: depth} | {
            _empty_cells(cells): d for cells, d in (deeper or {}).items()
        }
        self._depths = np.zeros(MOST_CELLS + 1, np.int64)
        for cells, at_depth in sorted(depths.items(), reverse=True):
            self._depths[: cells + 1] = checked_integer(at_depth, "depth", 1, DEEPEST)
        if not isinstance(game, SlidingGame):
            raise UsageError(f"expectimax supports only the sliding games, not {game}.")
        self._game, self._milliseconds = game, milliseconds
        weights_all = checked_integer(samples, "samples") == 0
        if not weights_all and game.placer != RANDOM:
            raise UsageError(
                f"samples draws the cells of new tiles uniformly, and the placer is "
                f"{brief(game.placer)}: give samples=0, which weights all new tiles."
            )
        can_compile = weights_all and isinstance(game.placer, str)
        self._searches: list[Search] = [
            CompiledSearch(agent, game)
            if isinstance(agent, NTuple) and can_compile
            else BatchedSearch(agent, game, samples, rng)
            for rng in np.random.default_rng(0).spawn(checked_integer(threads, "threads", least=1))
        ]
        self._pool = ThreadPoolExecutor(threads)
        timed = "" if milliseconds is None else "the time that it has"
        self.depends_on = timed if weights_all else "new tiles that it draws"

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return the value of each action, reward included, `(n, 4)`; minus infinity if illegal."""
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
        values = [np.zeros((0, self._game.n_actions))]
        for board, deepest in zip(boards[:, None], depths, strict=True):
            values.append(_search_in_time(search, board, int(deepest), self._milliseconds))
        return np.concatenate(values)


class BatchedSearch:
    """Searches all boards together, move by move: the agent is asked for many values at once."""

    def __init__(
        self, agent: ValueAgent, game: SlidingGame, samples: int, rng: np.random.Generator
    ) -> None:
        self._agent, self._game, self._samples, self._rng = agent, game, samples, rng

    def __call__(self, boards: Observations, depths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the action values `(n, 4)` of boards `(n, R, C)`, searched to depths `(n,)`."""
        values = np.zeros((len(boards), self._game.n_actions))
        for depth in np.unique(depths):
            values[depths == depth] = self._action_values(boards[depths == depth], int(depth))
        return values

    def _action_values(self, boards: Observations, depth: int) -> NDArray[np.float64]:
        if depth == 1:
            return self._agent.action_values(boards)
        after, rewards, masks = self._game.afterstates(boards)
        legal = masks > 0
        values = np.where(legal, rewards, -np.inf)
        for action in range(self._game.n_actions):  # not all at once: that would take much memory
            here = legal[:, action]
            values[here, action] += self._afterstate_values(after[here, action], depth - 1)
        return values

    def _afterstate_values(self, after: Observations, left: int) -> NDArray[np.float64]:
        """Return A(s', left) of afterstates, `(n,)`."""
        values = np.zeros(len(after))
        for parents, states, probabilities in self._replies(after):
            best = self._action_values(states, left).max(axis=1, initial=-np.inf)
            best = np.where(best > -np.inf, best, 0.0)
            values += np.bincount(parents, probabilities * best, len(after))
        return values

    def _replies(self, after: Observations) -> Iterator[Replies]:
        """Yield the states that may follow afterstates, in parts that take little memory."""
        if self._samples:
            yield from (self._draw(after) for _ in range(self._samples))
        else:
            parts = len(self._game.distribution.tiles)
            split = (np.array_split(column, parts) for column in self._game.replies(after))
            yield from map(Replies, *split)

    def _draw(self, after: Observations) -> Replies:
        distribution, everyone = self._game.distribution, np.arange(len(after))
        _, rows, columns = np.nonzero(after == 0)
        empty = (after == 0).sum(axis=(1, 2))
        cells = empty.cumsum() - 1 - self._rng.integers(empty)
        states = after.copy()
        tiles = self._rng.choice(distribution.tiles, len(after), p=distribution.probabilities)
        states[everyone, rows[cells], columns[cells]] = tiles
        return Replies(everyone, states, np.full(len(after), 1 / self._samples))


def _search_in_time(
    search: Search, board: Observations, deepest: int, milliseconds: float
) -> NDArray[np.float64]:
    """Search one board `(1, R, C)` deeper and deeper, as long as there is time."""
    end = time.perf_counter() + milliseconds / 1000
    last, growth = 0.0, 15.0  # the next depth takes `growth` times as long as the last one
    values = np.zeros((1, 0))
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


def _empty_cells(cells: Any) -> int:
    """Return a number of empty cells, which JSON has as text."""
    number = int(cells) if isinstance(cells, str) and cells.isdecimal() else cells
    return checked_integer(number, "empty cells in deeper", most=MOST_CELLS)
