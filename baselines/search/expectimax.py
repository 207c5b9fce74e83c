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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from numbers import Real
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from baselines.agents import Observations, ValueAgent
from baselines.ntuple.ntuple import NTuple
from baselines.search.compiled_expectimax import ALL, CompiledSearch, now
from baselines.settings import check_memory
from tile_envs.base.checks import brief, checked_integer
from tile_envs.errors import UsageError
from tile_envs.game import Game, Replies
from tile_envs.sliding.boards import checked_boards
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.placer import RANDOM
from tile_envs.sliding.rules import MAX_SIDE
from tile_envs.sliding.tables import CELL_MASK

DEEPEST = 100
MOST_CELLS = MAX_SIDE**2
MEBIBYTE = 1 << 20
DEEP = 4
"""From this depth on, threads for which there is no board help with that of another."""


Search = Callable[..., NDArray[np.float64]]
"""Returns the action values `(n, 4)` of boards `(n, R, C)`, searched to depths `(n,)`.

Two limits may follow: `end`, a time of `now` from which on unknown values may be NaN; and `order`,
the actions to search, one after the other.
"""


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
            as the next depth is expected to end in time; compiled code gives up where it does not.
        threads: The number of threads; None is one for each core if the search is compiled, else 1.
            They share boards; of a single one, a compiled search of four moves or more shares the
            new tiles.
        samples: If above 0, the number of new tiles that are drawn for each afterstate, instead of
            weighting all, by random numbers that are the same in each run; the search is not
            compiled then.  Only for new tiles that are placed uniformly.
        downgrade: A face.  From a largest tile of this face on, boards are searched as if each tile
            above the largest one missing below it were half as large (Guei, Chen and Wu,
            "Optimistic temporal difference learning for 2048", 2021).
        table: The size of a thread's transposition table in MiB.

    Attributes:
        depends_on: What its moves depend on besides the board; "" if they do not.
        games_at_once: How many games an evaluation is to play side by side.
        expected: The highest values of the boards that it has searched last, `(n,)`.

    Raises:
        ValueError: If a number is outside its range, the game is not a sliding game, tiles cannot
            be drawn because a placer chooses their cells, tiles to downgrade do not double, or the
            tables do not fit into memory.
    """

    def __init__(
        self,
        agent: ValueAgent,
        game: Game,
        depth: int = 2,
        deeper: Mapping[int, int] | None = None,
        milliseconds: float | None = None,
        threads: int | None = None,
        samples: int = 0,
        downgrade: int | None = None,
        table: int = 16,
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
        self._downgraded_from = None if downgrade is None else _doubling(game, downgrade)
        weights_all = checked_integer(samples, "samples") == 0
        if not weights_all and game.placer != RANDOM:
            raise UsageError(
                f"samples draws the cells of new tiles uniformly, and the placer is "
                f"{brief(game.placer)}: give samples=0, which weights all new tiles."
            )
        is_named = isinstance(game.placer, str)
        self._is_compiled = isinstance(agent, NTuple) and weights_all and is_named
        if threads is None:
            config: Any = numba.config
            threads = config.NUMBA_NUM_THREADS if self._is_compiled else 1
        checked_integer(threads, "threads", least=1)
        table_bytes = checked_integer(table, "table", least=1) * MEBIBYTE
        self._searches: list[Search]
        if isinstance(agent, NTuple) and self._is_compiled:
            check_memory(
                threads * table_bytes,
                f"a transposition table for each of {threads} threads",
                lambda available: f"give table of at most {available // threads // MEBIBYTE}",
            )
            self._searches = [CompiledSearch(agent, game, table_bytes) for _ in range(threads)]
        else:
            rngs = np.random.default_rng(0).spawn(threads)
            self._searches = [BatchedSearch(agent, game, samples, rng) for rng in rngs]
        self._pool = ThreadPoolExecutor(threads)
        timed = "" if milliseconds is None else "the time that it has"
        self.depends_on = timed if weights_all else "new tiles that it draws"
        is_quick = not self._is_compiled or (depth < 3 and milliseconds is None)
        self.games_at_once = 512 if is_quick else max(16, 4 * threads)

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return the value of each action, reward included, `(n, 4)`; minus infinity if illegal."""
        boards = checked_boards(observations, self._game.rules)
        if self._downgraded_from is not None:
            boards = downgraded(boards, self._downgraded_from)
        depths = self._depths[(boards == 0).sum(axis=(1, 2))]
        if self._is_compiled and len(boards) < len(self._searches):
            values = self._search(self._divided, boards, depths)
        else:
            values = self._shared(self._search, boards, depths)
        self.expected = values.max(axis=1)
        return values

    def _search(
        self, search: Search, boards: Observations, depths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if self._milliseconds is None:
            return search(boards, depths)
        values = [np.zeros((0, self._game.n_actions))]
        for board, deepest in zip(boards[:, None], depths, strict=True):
            values.append(_search_in_time(search, board, int(deepest), self._milliseconds))
        return np.concatenate(values)

    def _divided(
        self,
        boards: Observations,
        depths: NDArray[np.int64],
        end: float = math.inf,
        order: Sequence[int] = ALL,
    ) -> NDArray[np.float64]:
        """Search boards one by one as a compiled search does, to the last bit, with all threads."""
        deep = depths >= DEEP
        values = np.full((len(boards), self._game.n_actions), -np.inf)
        values[~deep] = self._searches[0](boards[~deep], depths[~deep], end, order)
        spawn = self._game.distribution
        for i in np.flatnonzero(deep):
            after, rewards, masks = self._game.afterstates(boards[i, None])
            for action in (action for action in order if masks[0, action]):
                states = self._game.replies(after[:, action]).boards
                found = self._shared(
                    lambda search, *asked: search(*asked, end).max(axis=1),
                    *(states, np.full(len(states), depths[i] - 1)),
                )
                best = np.where(found == -np.inf, 0.0, found)
                tiles = (states - after[:, action]).sum(axis=(1, 2))
                value = 0.0
                for tile, chance in zip(spawn.tiles, spawn.probabilities, strict=True):
                    value += chance * best[tiles == tile].sum() / (tiles == tile).sum()
                values[i, action] = np.float32(value) + np.float32(rewards[0, action])
        return values

    def _shared(self, search: Callable[..., Any], *columns: Any) -> NDArray[np.float64]:
        """Return what all threads find together, each with some lines of the columns."""
        n = len(self._searches)
        if n == 1:
            only: NDArray[np.float64] = search(self._searches[0], *columns)
            return only
        turns = [slice(turn, None, n) for turn in range(n)]
        parts = [[column[turn] for turn in turns] for column in columns]
        found = list(self._pool.map(search, self._searches, *parts))
        values = np.empty((len(columns[0]), *found[0].shape[1:]))
        for turn, of_part in zip(turns, found, strict=True):
            values[turn] = of_part
        return values


class BatchedSearch:
    """Searches all boards together, move by move: the agent is asked for many values at once."""

    def __init__(
        self, agent: ValueAgent, game: SlidingGame, samples: int, rng: np.random.Generator
    ) -> None:
        self._agent, self._game, self._samples, self._rng = agent, game, samples, rng

    def __call__(
        self, boards: Observations, depths: NDArray[np.int64], *limits: Any
    ) -> NDArray[np.float64]:
        """Return the values of all actions as a `Search`, whatever its limits."""
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
    """Search one board `(1, R, C)` deeper and deeper, as long as there is time and a choice.

    The choice is between the actions whose values are below the highest one by at most twice what
    the last move has changed values against each other.  What is not searched deeper, or not in
    time, changes as the best action does.
    """
    end = now() + milliseconds / 1000
    values = search(board, np.array([1]), end)[0]
    order = [action for action in np.argsort(-values) if values[action] > -np.inf]
    last, growth = 0.0, 8.0  # an action takes `growth` times as long with a move more
    for depth in range(2, deepest + 1):
        began = now()
        if len(order) < 2 or began + last * growth * len(order) > end:
            break
        found = search(board, np.array([depth]), end, order)[0]
        taken = (now() - began) / len(order)
        if depth > 2:  # the first two are too short to tell
            growth = max(2.0, taken / last)
        last = taken
        known = [action for action in order if not np.isnan(found[action])]
        changes = found[known] - values[known]
        if known:
            values += changes[0]
            values[known] = found[known]
        if len(known) < len(order):
            break
        least = values.max() - 2 * np.ptp(changes)
        order = [action for action in np.argsort(-values) if values[action] >= least]
    return np.array([values])


def downgraded(boards: Observations, threshold: int) -> Observations:
    """Return boards with smaller tiles, on which the same moves are legal.

    Where the largest tile has at least the index `threshold`, each tile above the largest one that
    is missing below it is replaced by the tile before it.
    """
    n, tiles = len(boards), np.arange(CELL_MASK + 1)
    present = np.zeros((n, len(tiles)), np.bool_)
    present[np.arange(n)[:, None], boards.reshape(n, -1)] = True
    largest = boards.max(axis=(1, 2), initial=0)[:, None]
    missing = np.where(~present & (tiles < largest) & (largest >= threshold), tiles, 0).max(axis=1)
    return np.asarray(boards - ((missing > 0) & (missing < boards.T)).T)


def _doubling(game: SlidingGame, face: object) -> int:
    """Return the index of a tile to downgrade from."""
    faces = game.rules.faces[1:]
    if any(2 * smaller != larger for smaller, larger in pairwise(faces)):
        raise UsageError(f"downgrade is for tiles that double, and those of {game.name} do not.")
    return game.rules.index_of(face)


def _empty_cells(cells: Any) -> int:
    """Return a number of empty cells, which JSON has as text."""
    number = int(cells) if isinstance(cells, str) and cells.isdecimal() else cells
    return checked_integer(number, "empty cells in deeper", most=MOST_CELLS)
