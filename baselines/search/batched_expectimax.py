"""Expectimax over the values of any agent, asked for many boards at once; see `expectimax`."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from baselines.agents import ValueAgent, distinct
from baselines.search.clock import now
from baselines.search.compiled_expectimax import ALL, deepening
from tile_envs.game import Floats, Ints, Observations, Replies
from tile_envs.sliding.game import SlidingGame

BATCH, TIMED_BATCH = 1 << 16, 32
"""The most boards that are looked at together; those between two looks at the clock."""


class BatchedSearch:
    """Searches all boards together, move by move; `samples` are those of `SearchOptions`."""

    def __init__(
        self, agent: ValueAgent, game: SlidingGame, rng: Any = None, samples: int = 0
    ) -> None:
        self._agent, self._game, self._samples, self._rng = agent, game, samples, rng
        self._end = math.inf

    def __call__(
        self, boards: Observations, depth: int, end: float = math.inf, order: Ints = ALL
    ) -> Floats:
        self._end = end
        if depth == 1 and len(boards):  # not every agent can value none
            return np.asarray(self._agent.action_values(boards))
        after, rewards, masks = self._game.afterstates(boards)
        values = np.full(masks.shape, -np.inf)
        for action in order:  # not all at once: that would take much memory
            legal = masks[:, action] > 0
            following = self._afterstate_values(after[legal, action], depth - 1)
            values[legal, action] = rewards[legal, action] + following
        return values

    def deepened(self, boards: Observations, deepest: int, seconds: float) -> Floats:
        """Search boards one by one, each for so many seconds; see `deepening`."""
        values, search = np.zeros((len(boards), self._game.n_actions)), deepening(self)
        for i, board in enumerate(boards[:, None]):
            values[i] = search((board,), deepest, now() + seconds, self(board, 1)[0])
        return values

    def _state_values(self, states: Observations, depth: int) -> Floats:
        """Return the highest action value of states, `(n,)`; 0 where no action is legal."""
        # Different ways lead to the same afterstate, to about every second one on 4×4.
        if not len(states):
            return np.zeros(0)
        n = BATCH if self._end == math.inf else TIMED_BATCH
        if len(states) > n:
            parts = [states[begin : begin + n] for begin in range(0, len(states), n)]
            return np.concatenate([self._state_values(part, depth) for part in parts])
        if now() > self._end:
            return np.full(len(states), np.nan)
        if depth == 1:
            values = np.asarray(self._agent.action_values(states))
            if self._game.terminate_at_goal:  # the agent may have learned to play on
                values = np.where(self._game.legal_actions(states) > 0, values, -np.inf)
        else:
            after, rewards, masks = self._game.afterstates(states)
            legal = masks > 0
            values = np.full(legal.shape, -np.inf)
            different, which = distinct(after[legal])
            values[legal] = rewards[legal] + self._afterstate_values(different, depth - 1)[which]
        best = values.max(axis=1)
        return np.where(best == -np.inf, 0.0, best)

    def _afterstate_values(self, after: Observations, left: int) -> Floats:
        values = np.zeros(len(after))
        for parents, states, probabilities in self._replies(after):
            best = self._state_values(states, left)
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
        tiles = self._rng.choice(distribution.tiles, len(after), p=distribution.probabilities)
        states = after.copy()
        states[everyone, rows[cells], columns[cells]] = tiles
        return Replies(everyone, states, np.full(len(after), 1 / self._samples))
