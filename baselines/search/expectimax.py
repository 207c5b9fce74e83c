"""Expectimax: values made deeper by looking at every move and every new tile, exactly weighted.

A search of depth p looks at p moves of the player, and at all new tiles between them: depth 1 is
the greedy player on afterstates, depth 2 is max, chance, max.  With q moves left to look at, the
value of an afterstate s' is

    A(s', 0) = V(s'),
    A(s', q) = Σ over new tiles  P(tile) / (number of its cells) · max over a (r + A(s'', q - 1)),

where action a leads from s' and its new tile to s'' with reward r; the max is 0 where no action is
legal.  The cells of a tile are those on which the game's placer may place it: all empty ones, if it
is chance.  V is that of any agent with action values, which include the reward.

With a time for each move, a compiled search is selective (Shannon's type B, 1950), to look deeper:
where q > 1, the max is over the actions whose r + V(s'') is at least two fifths of the highest (if
that is positive), and a tile less likely than 1 in 5 leaves q - 2 moves, not q - 1, but at least 1.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import current_thread
from typing import Any

import numpy as np

from baselines.agents import ValueAgent
from baselines.ntuple.ntuple import NTuple
from baselines.search.batched_expectimax import BatchedSearch
from baselines.search.compiled_expectimax import CompiledSearch
from baselines.search.options import DEEPEST, SearchOptions
from baselines.settings import check_memory, read_settings, usable_cores
from tile_envs.agents import check_plays
from tile_envs.base.checks import brief, checked_integer
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Game, Observations
from tile_envs.sliding.chance import RANDOM
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.tables import CELL_MASK

MEBIBYTE, POOL = 1 << 20, "expectimax"
DEEP = 4  # from this depth on, idle threads share the new tiles of one board
Search = CompiledSearch | BatchedSearch


class Expectimax(ValueAgent):
    """Searches with the values of another agent.

        agent = Expectimax(load("strong"), game, 3, milliseconds=10)

    Args:
        agent: The agent whose values are searched with; with an n-tuple network and a named placer
            the search is compiled code.
        game: The game, whose spawn distribution weights the new tiles and whose placer places them.
        depth: The number of moves of the player that are looked at, at least 1.
        **options: The fields of `SearchOptions`.

    Attributes:
        depends_on: What its moves depend on besides the board; "" if they do not.
        games_at_once: How many games an evaluation is to play side by side.
        expected: The highest values of the boards that it has searched last, `(n,)`.

    Raises:
        ValueError: If an option is unusable, or the game is not a sliding game or the agent's.
    """

    def __init__(self, agent: ValueAgent, game: Game, depth: int = 2, **options: Any) -> None:
        if not isinstance(game, SlidingGame):
            raise UsageError(f"expectimax supports only the sliding games, not {game}.")
        given = read_settings(SearchOptions, options)
        self._game, self._milliseconds, face = game, given.milliseconds, given.downgrade
        self._depth = checked_integer(depth, "depth", 1, DEEPEST)
        self._downgraded_from = None if face is None else _index_if_doubling(game, face)
        check_plays(agent, game)
        is_timed = given.milliseconds is not None
        self.depends_on = "new tiles that it draws" if given.samples else "the time" * is_timed
        self.games_at_once, self.expected = 512, np.zeros(0)
        if isinstance(agent, NTuple) and isinstance(game.placer, str) and not given.samples:
            threads, size = given.threads or usable_cores(), given.table * MEBIBYTE
            what = f"a transposition table for each of {threads} threads"
            check_memory(threads * size, what, "give table of at most {}", threads * MEBIBYTE)
            self._searches: list[Any] = [CompiledSearch(agent, game, size) for _ in range(threads)]
            if is_timed:  # compile before the time of a move begins
                nothing = np.zeros((1, *game.shape), np.uint8)
                for search in self._searches:
                    search.deepened(nothing, 2, 0.0)
            if depth > 2 or is_timed:
                self.games_at_once = max(16, 4 * threads)
        else:
            if given.samples and game.placer != RANDOM:
                placer = brief(game.placer)
                raise UsageError(f"samples needs tiles placed uniformly, not by {placer}.")
            rngs = np.random.default_rng(0).spawn(given.threads or 1)
            self._searches = [BatchedSearch(agent, game, rng, given.samples) for rng in rngs]

    def action_values(self, observations: Observations) -> Floats:
        boards = searched = self._game.rules.checked_boards(observations)
        if self._downgraded_from is not None:
            searched = downgrade(boards, self._downgraded_from)
        is_exact = isinstance(self._searches[0], CompiledSearch) and self._milliseconds is None
        if is_exact and self._depth >= DEEP and len(boards) < len(self._searches):
            values = self._divided(searched)
        else:
            values = self._shared(self._search, searched)
        if searched is not boards:  # two of the largest tile do not merge, but smaller ones do
            values[self._game.legal_actions(boards) == 0] = -np.inf
        self.expected = values.max(axis=1)
        return values

    def _search(self, search: Search, boards: Observations) -> Floats:
        if self._milliseconds is None:
            return search(boards, self._depth)
        return search.deepened(boards, self._depth, self._milliseconds / 1000)

    def _shared(self, search: Callable[..., Any], boards: Observations) -> Floats:
        """Return what all threads find together, each on some of the boards."""
        n = min(len(self._searches), len(boards))
        if n < 2 or current_thread().name.startswith(POOL):  # whose threads may wait for this one
            return np.asarray(search(self._searches[0], boards))
        parts = [boards[turn::n] for turn in range(n)]
        found = list(_pool(os.getpid(), len(self._searches)).map(search, self._searches, parts))
        values = np.empty((len(boards), *found[0].shape[1:]))
        for turn, part in enumerate(found):
            values[turn::n] = part
        return values

    def _divided(self, boards: Observations) -> Floats:
        """Search boards one by one as a compiled search does, to the last bit, with all threads."""

        def best(search: Search, states: Observations) -> Floats:
            highest = search(states, self._depth - 1).max(axis=1)
            return np.where(highest == -np.inf, 0.0, highest)

        (after, rewards, masks), spawn = self._game.afterstates(boards), self._game.distribution
        values = np.full(masks.shape, -np.inf)
        for place in zip(*np.nonzero(masks), strict=True):
            states, value = self._game.replies(after[place][None]).boards, 0.0
            found, tiles = self._shared(best, states), (states - after[place]).max(axis=(1, 2))
            for tile, chance in zip(spawn.tiles, spawn.probabilities, strict=True):
                with_tile = found[tiles == tile].cumsum()  # summed up in the same order
                value += chance * with_tile[-1] / len(with_tile)
            values[place] = np.float32(value) + np.float32(rewards[place])
        return values


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Return the threads of a process: they are not forked."""
    return ThreadPoolExecutor(threads, POOL)


def downgrade(boards: Observations, threshold: int) -> Observations:
    """Return boards with smaller tiles, on which the same moves are legal, and perhaps others.

    Where the largest tile has at least the index `threshold`, each tile above the largest one that
    is missing below it is replaced by the tile before it.
    """
    tiles = np.arange(CELL_MASK + 1)
    present = (boards[..., None] == tiles).any(axis=(1, 2))
    largest = boards.max(axis=(1, 2), initial=0)[:, None]
    is_missing = ~present & (tiles < largest) & (largest >= threshold)
    missing = np.where(is_missing, tiles, 0).max(axis=1)[:, None, None]
    return np.asarray(boards - ((missing > 0) & (missing < boards)))


def _index_if_doubling(game: SlidingGame, face: int) -> int:
    """Return the index of a tile to downgrade from, in a game whose tiles double."""
    rules, tiles = game.rules, range(1, game.rules.largest)
    doubles = all(rules.faces[tile + 1] == 2 * rules.faces[tile] for tile in tiles)
    if not doubles or {*rules.merges} != {(tile, tile, tile + 1) for tile in tiles}:
        raise UsageError(f"downgrade is for tiles that double, and those of {game.name} do not.")
    return rules.index_of(face)
