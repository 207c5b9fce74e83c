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
from typing import Any, Literal

import numpy as np

from baselines.settings import Count, Finite, Fraction, OpponentOrSelf, Rate, Weight
from baselines.tabular.boards import from_opponent, move_entries
from baselines.training.episodes import Episodes, EpisodicLearner, Sides
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Game, Observations
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


class ValueTable(EpisodicLearner):
    """A table of V(s), `v`, by the code of the afterstate, and of the updates of each, `visits`."""

    Settings = ValueTableSettings
    plays = TicTacToe
    test_games = 100
    saved = ("v", "visits")

    def __init__(self, game: Game, seed: int = 0, settings: Any = None, sides: Sides = ()) -> None:
        super().__init__(game, seed, settings, sides)
        settings = self._settings
        # By code, as the player sees it who has just moved: its own marks count as X.
        self.v = np.full(3**CELLS, settings.start)
        self.v[solve().winner == X] = 1.0
        self.v[solve().winner == O] = -settings.loss_weight
        self.visits = np.zeros(3**CELLS, np.int64)

    def action_values(self, observations: Observations) -> Floats:
        after, _, masks = afterstates(observations)
        return np.where(masks, self.v[encode(after)], -np.inf)

    def update(self, episodes: Episodes) -> None:
        """Move V(s) of every afterstate towards its target, from the last to the first."""
        s, weight, draw = self._settings, self._settings.loss_weight, self._settings.draw
        rate = s.step_size - s.step_size_decrease * self.games
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
            targets[ends] = np.select([won, lost], [1.0, -weight], draw)
            others[ends] = np.where(won, -weight, draw)
            moves = afterstates(boards[playing])[0]
            left = encode(moves[np.arange(len(moves)), episodes.actions[t][playing]])
            move_entries(self.v, self.visits, left, targets[playing], rate, s.step_size_decay)
            if s.target == "best":
                best = self.action_values(boards[playing]).max(axis=1)
                targets[playing], others[playing] = best, from_opponent(best, weight, draw)
