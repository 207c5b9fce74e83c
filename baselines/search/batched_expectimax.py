"""Expectimax over the values of any agent, which is asked for many boards at once.

See `expectimax` for the definition.
"""

import math
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Observations, ValueAgent, distinct
from baselines.search.compiled_expectimax import ALL, now
from tile_envs.game import Replies
from tile_envs.sliding.game import SlidingGame

CLOCK_READS = 10
"""The clock is read at least this often per move."""
MOST = 128
"""The most boards between two readings: more of them hardly take less time each."""
BATCH = 1 << 16
"""The most boards that are looked at together where no time is given."""


class BatchedSearch:
    """Searches all boards together, move by move.

    Args:
        agent: The agent whose values are searched with.
        game: The game.
        rng: What draws samples.
        samples: As in `SearchOptions`.
        milliseconds: The time of a move, which the number of boards asked for at once follows from.
    """

    def __init__(
        self,
        agent: ValueAgent,
        game: SlidingGame,
        rng: np.random.Generator | None = None,
        samples: int = 0,
        milliseconds: float | None = None,
    ) -> None:
        self._agent, self._game, self._samples, self._rng = agent, game, samples, rng
        self._seconds = math.inf if milliseconds is None else milliseconds / 1000 / CLOCK_READS
        self._at_once = BATCH if milliseconds is None else 1
        self._end = self._one = math.inf  # `_one` is the least time that one board has taken
        self._is_over, self._looked, self._longest = False, 0.0, 0.0

    def __call__(
        self,
        boards: Observations,
        depths: NDArray[np.int64],
        end: float = math.inf,
        order: Sequence[int] = ALL,
    ) -> NDArray[np.float64]:
        """Return action values, as `expectimax.Search` says."""
        self._end, self._is_over, self._looked = end, False, now()
        values = np.zeros((len(boards), self._game.n_actions))
        for depth in np.unique(depths):
            here = depths == depth
            values[here] = self._action_values(boards[here], int(depth), order)
        return values

    def get_ready(self, board: Observations) -> None:
        """Say so, once, if the agent is too slow for the time of a move."""
        if self._one < math.inf or not len(board):
            return
        for _ in range(2):  # the first evaluation may compile code
            began = now()
            self._ask(board)
            taken = now() - began
            if taken < self._seconds:
                return
        print(
            f"one evaluation of the agent takes {1000 * taken:.2g} ms, more than a tenth of a "
            f"move's {1000 * CLOCK_READS * self._seconds:g} ms: moves may take longer, and look "
            "less far ahead",
            file=sys.stderr,
        )

    def _action_values(
        self, boards: Observations, depth: int, order: Sequence[int]
    ) -> NDArray[np.float64]:
        if self._is_late():
            return np.full((len(boards), self._game.n_actions), np.nan)
        if depth == 1:
            return self._ask(boards)
        after, rewards, masks = self._game.afterstates(boards)
        values = np.full(masks.shape, -np.inf)
        for action in order:  # not all at once: that would take much memory
            here = masks[:, action] > 0
            values[here, action] = np.nan
            if not self._is_over:
                following = self._afterstate_values(after[here, action], depth - 1)
                values[here, action] = rewards[here, action] + following
        return values

    def _ask(self, boards: Observations) -> NDArray[np.float64]:
        """Return the agent's values, and see how many boards to ask for at once."""
        began = now()
        values = self._agent.action_values(boards)
        if self._seconds < math.inf:
            taken = max(now() - began, 1e-9)  # clocks have steps
            self._one = min(self._one, taken if len(boards) == 1 else math.inf)
            limit = max(self._seconds, 1.5 * self._one)
            n = max(1, int(len(boards) * limit / taken))
            chosen = max if taken < limit else min  # few boards may take as long as many
            self._at_once = min(chosen(n, self._at_once), MOST)
        return values

    def _is_late(self) -> bool:
        """Tell whether the next boards may end too late, by the time of those before them."""
        if self._end == math.inf:
            return False
        last, self._looked = self._looked, now()
        self._longest = max(self._looked - last, 0.97 * self._longest)  # forgets slow moments
        self._is_over |= self._looked + self._longest > self._end
        return self._is_over

    def _state_values(self, states: Observations, depth: int) -> NDArray[np.float64]:
        """Return the highest action value of states, `(n,)`; 0 where no action is legal.

        Different ways lead to the same afterstate, to about every second one on 4×4.
        """
        if not len(states):  # which not every agent can value
            return np.zeros(0)
        if self._is_late():
            return np.full(len(states), np.nan)
        if (n := self._at_once) < len(states):
            parts = [states[begin : begin + n] for begin in range(0, len(states), n)]
            return np.concatenate([self._state_values(part, depth) for part in parts])
        if depth == 1:
            values = self._ask(states)
        else:
            after, rewards, masks = self._game.afterstates(states)
            legal = masks > 0
            values = np.full(legal.shape, -np.inf)
            different, which = distinct(after[legal])
            values[legal] = rewards[legal] + self._afterstate_values(different, depth - 1)[which]
        best = values.max(axis=1)
        return np.where(best == -np.inf, 0.0, best)

    def _afterstate_values(self, after: Observations, left: int) -> NDArray[np.float64]:
        """Return A(s', left) of afterstates, `(n,)`."""
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
        assert self._rng is not None
        distribution, everyone = self._game.distribution, np.arange(len(after))
        _, rows, columns = np.nonzero(after == 0)
        empty = (after == 0).sum(axis=(1, 2))
        cells = empty.cumsum() - 1 - self._rng.integers(empty)
        states = after.copy()
        tiles = self._rng.choice(distribution.tiles, len(after), p=distribution.probabilities)
        states[everyone, rows[cells], columns[cells]] = tiles
        return Replies(everyone, states, np.full(len(after), 1 / self._samples))
