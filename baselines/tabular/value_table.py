"""A table of values of afterstates, after Sutton and Barto's tic-tac-toe (chapter 1).

The player who has just moved looks at the board it leaves, the afterstate s, and keeps V(s), the
result to expect from there.  It plays the move with the best afterstate, and now and then a random
one to explore.  After a game, every afterstate it left moves towards a target,

    V(s) ← V(s) + A (target - V(s)).

The published program's target is the game's result (1 for a win, else 0, a draw too), its step size
A decreases by a fixed amount each game, and V starts at 1 for three in a row, 0 for three of the
other player, and 0.5 elsewhere.  The tuned recipe bootstraps: the target is the value of the best
move on the board that came back, so that exploring costs nothing; A decreases with the visits of
each afterstate; and a loss costs more than a win brings.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Observations
from baselines.settings import Count, Finite, Fraction, OpponentOrSelf, Rate, Weight
from baselines.tabular.boards import move_entries, turned
from baselines.training.episodes import Episodes, EpsilonGreedyLearner
from tile_envs.errors import UsageError
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import CELLS, O, X, afterstates, encode, solve


@dataclass(frozen=True)
class ValueTableSettings:
    """The settings of a value table.

    Attributes:
        opponent: The opponent; self is self-play.
        n_envs: Games played side by side and then learned from.
        target: The target of an update: the value of the best next move, or the game's result.
        step_size: A of an afterstate's first visit; of the first game, if it decreases by the game.
        step_size_decay: After v visits, A is divided by v to this power.
        step_size_decrease: Decrease of A per game, down to 0.
        epsilon: Probability of a random move.
        draw: The value of a draw, between 1 for a win and -loss_weight for a loss.
        loss_weight: The cost of a loss.
        start: The value of an afterstate that decides nothing, before it is visited.
    """

    opponent: OpponentOrSelf = "random"
    n_envs: Count = 1
    target: Literal["best", "result"] = "result"
    step_size: Rate = 1.0
    step_size_decay: Fraction = 0.0
    step_size_decrease: Fraction = 0.01
    epsilon: Fraction = 0.05
    draw: Finite = 0.0
    loss_weight: Weight = 0.0
    start: Finite = 0.5

    def __post_init__(self) -> None:
        if not -self.loss_weight <= self.draw <= 1:
            raise UsageError(f"draw must be from -loss_weight to 1, got {self.draw!r}.")


class ValueTable(EpsilonGreedyLearner):
    """A table of V(s), and the agent that plays the move with the best afterstate.

    Attributes:
        v: `(19683,) float64`, the values, by the code of the afterstate.
        visits: `(19683,) int64`, the number of updates of each.
    """

    Settings = ValueTableSettings
    plays = TicTacToe
    saved = ("v", "visits")
    _settings: ValueTableSettings

    def _build(self) -> None:
        # By code, as the player sees it who has just moved: its own marks count as X.
        winner = solve().winner
        self.v = np.full(3**CELLS, self._settings.start)
        self.v[winner == X] = 1.0
        self.v[winner == O] = -self._settings.loss_weight
        self.visits = np.zeros(3**CELLS, np.int64)

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return V of the afterstate of each move, `(n, 9)`; minus infinity for illegal ones."""
        after, _, masks = afterstates(observations)
        return np.where(masks, self.v[encode(after)], -np.inf)

    @property
    def _epsilon(self) -> float:
        return self._settings.epsilon

    def update(self, episodes: Episodes) -> None:
        """Move V(s) of every afterstate towards its target, from the last to the first."""
        settings = self._settings
        rate = settings.step_size - settings.step_size_decrease * self.games
        if rate <= 0:
            return
        targets, continues = np.zeros(episodes.playing.shape[1]), episodes.continues
        others = targets.copy()  # the other player's, in self-play
        for t in reversed(range(len(episodes.actions))):
            playing, boards = episodes.playing[t], episodes.observations[t]
            if self.self_play:
                targets, others = others, targets
            ends = playing & ~continues[t]
            won, lost = episodes.rewards[t][ends] > 0, episodes.rewards[t][ends] < 0
            targets[ends] = np.select([won, lost], [1.0, -settings.loss_weight], settings.draw)
            others[ends] = np.where(won, -settings.loss_weight, settings.draw)
            moves = afterstates(boards[playing])[0]
            left = encode(moves[np.arange(len(moves)), episodes.actions[t][playing]])
            move_entries(
                self.v, self.visits, left, targets[playing], rate, settings.step_size_decay
            )
            if settings.target == "best":
                targets[playing] = self.action_values(boards[playing]).max(axis=1)
                others[playing] = turned(targets[playing], settings.loss_weight, settings.draw)
