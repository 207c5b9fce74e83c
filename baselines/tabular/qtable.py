"""Q-learning with a table, for tic-tac-toe and for sliding games on small boards.

A table holds Q(s, a), the return to expect from action a on board s.  After a batch of games each
action moves its entry towards what followed,

    Q(s, a) ← Q(s, a) + α (r + γ max_a' Q(s', a') - Q(s, a)),

from the last action to the first, so that a result is known at the first move at once (Watkins and
Dayan, "Q-learning", 1992).  In self-play the next board is the other player's, and what it is worth
counts against the one who moved.

Against a random opponent the best answer for O accepts a few losses; `loss_weight` makes a loss
cost more than a win brings, and the best answer is then one that never loses.
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
from baselines.learner import BatchLearner, State, epsilon_greedy, falling, move_towards
from baselines.tabular.boards import BoardCodes


@dataclass(frozen=True)
class QTableSettings:
    """How a Q-table learns.

    Attributes:
        opponent: In tic-tac-toe: random, minimax, minimax_first or self.
        batch: Games played side by side and then learned from.
        learning_rate: α of an entry's first visit, above 0 and at most 1.
        learning_rate_decay: After v visits, α is divided by v to this power.
        backwards: Learn from the last action of a game to the first; else from the first on.
        epsilon: The share of actions that are drawn at random.
        epsilon_step: So much it falls ...
        epsilon_games: ... every so many games.
        discount: γ.
        loss_weight: What a loss costs, when a win brings 1.
        merge_symmetric: Whether boards that are images of each other share their entries.
    """

    opponent: str = "random"
    batch: int = 1000
    learning_rate: float = 1.0
    learning_rate_decay: float = 0.75
    backwards: bool = True
    epsilon: float = 1.0
    epsilon_step: float = 0.0
    epsilon_games: int = 1000
    discount: float = 1.0
    loss_weight: float = 10.0
    merge_symmetric: bool = True

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own.
        """
        rate = self.learning_rate
        check("learning_rate", rate, 0 < rate <= 1, "above 0 and at most 1")
        check_shares(self, "learning_rate_decay", "epsilon", "epsilon_step", "discount")
        check_least(self, 1, "epsilon_games")
        check_least(self, 0, "loss_weight")


class QTable(BatchLearner):
    """A table of Q(s, a), and the agent that plays the best action it knows.

    Args:
        env: The game.
        sides: What is learned in tic-tac-toe, of "X" and "O".
        settings: How it learns.
        seed: Starts games and exploration.

    Raises:
        ValueError: If a setting is out of its range, or the table would be too large.
    """

    def __init__(
        self, env: gym.Env[Any, Any], sides: tuple[str, ...], settings: QTableSettings, seed: int
    ) -> None:
        settings.check()
        super().__init__(env, sides, settings.opponent, settings.batch, seed)
        self._settings = settings
        # An entry is a value and its visits.
        self._codes = BoardCodes(env, settings.merge_symmetric, bytes_per_entry=16)
        self._q = np.zeros((self._codes.size, self._game.n_actions))
        self._visits = np.zeros((self._codes.size, self._game.n_actions), np.int64)

    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return Q of each action, `(n, actions)`; minus infinity for illegal ones."""
        codes, images = self._codes.of(observations)
        legal = self._game.legal_actions(observations) > 0
        return np.where(legal, self._q[codes[:, None], images], -np.inf)

    def _explore(
        self, observations: Observations, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        settings = self._settings
        epsilon = falling(
            settings.epsilon, settings.epsilon_step, settings.epsilon_games, self.games
        )
        return epsilon_greedy(self.values(observations), masks, epsilon, rng)

    def _update(self, episodes: Episodes) -> None:
        settings = self._settings
        last = len(episodes.actions) - 1
        for t in range(last, -1, -1) if settings.backwards else range(last + 1):
            playing = episodes.playing[t]
            boards, rewards = episodes.observations[t][playing], episodes.rewards[t][playing]
            targets = np.where(rewards < 0, rewards * settings.loss_weight, rewards)
            if t < last:
                goes_on = episodes.playing[t + 1][playing]
                following = self.values(episodes.observations[t + 1][playing][goes_on]).max(axis=1)
                targets[goes_on] += settings.discount * following * (-1 if self.self_play else 1)
            codes, images = self._codes.of(boards)
            taken = images[np.arange(len(boards)), episodes.actions[t][playing]]
            move_towards(
                self._q.reshape(-1),
                self._visits.reshape(-1),
                codes * self._game.n_actions + taken,
                targets,
                settings.learning_rate,
                settings.learning_rate_decay,
            )

    def state(self) -> State:
        """Return the table, its visits and the number of rounds."""
        rounds = np.array(self.rounds)
        return {"q": self._q.copy(), "visits": self._visits.copy(), "rounds": rounds}

    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._q[:], self._visits[:] = state["q"], state["visits"]
        self.rounds = int(state["rounds"])
