"""A table of values of afterstates, after Sutton and Barto's tic-tac-toe (chapter 1).

The player who has just moved looks at the board it leaves, the afterstate s, and keeps V(s), what
it expects from there.  It plays the move with the best afterstate, and now and then another one to
explore.  After a game every afterstate it left moves towards what came of it,

    V(s) ← V(s) + A (target - V(s)).

The published program's target is the game's result (1 for a win, 0 otherwise, a draw too), its step
size A falls by a fixed amount each game, and V starts at 1 for three in a row, 0 for three of the
other's, and 0.5 elsewhere.  The better recipe bootstraps: the target is the value of the best move
on the board that came back, so that exploring costs nothing; A falls with the visits of each
afterstate; and a loss costs more than a win brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from baselines.agent import Observations
from baselines.checks import check, check_least, check_shares
from baselines.episodes import Episodes
from baselines.learner import BatchLearner, State, epsilon_greedy, move_towards
from tile_envs.tictactoe.env import TicTacToeEnv
from tile_envs.tictactoe.positions import CELLS, O, X, afterstates, encode, solve


@dataclass(frozen=True)
class ValueTableSettings:
    """How a value table learns.

    Attributes:
        opponent: random, minimax, minimax_first or self.
        batch: Games played side by side and then learned from.
        target: What a value moves towards: "best", that of the best next move, or "result".
        step_size: A of an afterstate's first visit; if it falls by the game, of the first game.
        step_size_decay: After v visits, A is divided by v to this power.
        step_size_fall: So much A falls a game, down to 0.
        epsilon: The share of moves that are drawn at random.
        draw: What a draw is worth, between a win's 1 and a loss's -loss_weight.
        loss_weight: What a loss costs.
        start: The value of an afterstate that decides nothing, before it is visited.
    """

    opponent: str = "random"
    batch: int = 1000
    target: str = "best"
    step_size: float = 1.0
    step_size_decay: float = 0.75
    step_size_fall: float = 0.0
    epsilon: float = 1.0
    draw: float = 0.0
    loss_weight: float = 10.0
    start: float = 0.0

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own.
        """
        check("target", self.target, self.target in ("best", "result"), "'best' or 'result'")
        check("step_size", self.step_size, 0 < self.step_size <= 1, "above 0 and at most 1")
        check_shares(self, "step_size_decay", "step_size_fall", "epsilon")
        check_least(self, 0, "loss_weight")
        worth = -self.loss_weight <= self.draw <= 1
        check("draw", self.draw, worth, "between a loss and a win")


class ValueTable(BatchLearner):
    """A table of V(s), and the agent that plays the move with the best afterstate.

    Args:
        env: Tic-tac-toe.
        sides: What is learned, of "X" and "O".
        settings: How it learns.
        seed: Starts games and exploration.

    Raises:
        ValueError: If the game is another one, or a setting is out of its range.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        sides: tuple[str, ...],
        settings: ValueTableSettings,
        seed: int,
    ) -> None:
        if not isinstance(env.unwrapped, TicTacToeEnv):
            raise ValueError("a value table plays TicTacToe-v0 only: use qtable for other games.")
        settings.check()
        super().__init__(env, sides, settings.opponent, settings.batch, seed)
        self._settings = settings
        # By code, as the player sees it who has just moved: its own marks count as X.
        known = solve()
        self._v = np.full(3**CELLS, settings.start)
        self._v[known.winner == X] = 1.0
        self._v[known.winner == O] = -settings.loss_weight
        self._visits = np.zeros(3**CELLS, np.int64)

    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return V of what each move leaves, `(n, 9)`; minus infinity for illegal ones."""
        after, _, masks = afterstates(observations)
        return np.where(masks, self._v[encode(after)], -np.inf)

    def _explore(
        self, observations: Observations, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        return epsilon_greedy(self.values(observations), masks, self._settings.epsilon, rng)

    def _update(self, episodes: Episodes) -> None:
        settings = self._settings
        rate = settings.step_size - settings.step_size_fall * self.games
        if rate <= 0:
            return
        coming = np.zeros(episodes.playing.shape[1])  # what is to come for the player to move
        goes_on = np.zeros_like(episodes.playing[0])
        for t in reversed(range(len(episodes.actions))):
            playing, boards = episodes.playing[t], episodes.observations[t]
            if self.self_play:
                coming = -coming  # it was the other player's
            ends = playing & ~goes_on
            coming[ends] = self._worth(episodes.rewards[t][ends])
            moves = afterstates(boards[playing])[0]
            left = encode(moves[np.arange(len(moves)), episodes.actions[t][playing]])
            decay = settings.step_size_decay
            move_towards(self._v, self._visits, left, coming[playing], rate, decay)
            if settings.target == "best":
                coming[playing] = self.values(boards[playing]).max(axis=1)
            goes_on = playing

    def _worth(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what results are worth, those of the last moves of games."""
        settings = self._settings
        return np.select([rewards > 0, rewards < 0], [1.0, -settings.loss_weight], settings.draw)

    def state(self) -> State:
        """Return the table, its visits and the number of rounds."""
        rounds = np.array(self.rounds)
        return {"v": self._v.copy(), "visits": self._visits.copy(), "rounds": rounds}

    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._v[:], self._visits[:] = state["v"], state["visits"]
        self.rounds = int(state["rounds"])
