"""Q-learning with a table, for tic-tac-toe and for sliding games on small boards.

The table holds Q(s, a), the return to expect from action a in state s.  After a batch of games,
every action moves its entry towards what followed,

    Q(s, a) ← Q(s, a) + α (r + γ max_a' Q(s', a') - Q(s, a)),

from the last action of a game to the first, so that a result reaches the first action at once
(Watkins and Dayan, "Q-learning", 1992).  In self-play the next state is the other player's, and its
value is turned into one's own: negative, and a loss costs `loss_weight`.

Against a random opponent, the best O accepts a few losses; with a larger `loss_weight` it never
loses.  The defaults are those of a published Q-table, whose learning rate is not known.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from baselines.seeds import training_generator, training_seeds
from baselines.settings import Count, Finite, Fraction, OpponentOrSelf, Rate, Weight, check_memory
from baselines.solver.boards import is_solved_quickly
from baselines.tabular.boards import BoardCodes, from_opponent, move_entries
from baselines.training.episodes import Episodes, EpisodicLearner, Sides
from baselines.training.learner import Metrics
from tile_envs.base.random_stream import starts
from tile_envs.errors import UsageError
from tile_envs.game import Bools, Floats, Game, Ints, Observations
from tile_envs.sliding import SlidingGame
from tile_envs.sliding.packed.tables import check_packs


@dataclass(frozen=True)
class QTableSettings:
    """The settings of a Q-table.

    Attributes:
        opponent: The opponent in tic-tac-toe; self is self-play.
        n_envs: Games played side by side and then learned from; the games of an iteration.
        sequential: Play the games of an iteration one after the other instead, and learn from each
            at its end, in compiled code; sliding games only.
        learning_rate: α of an entry's first visit.
        learning_rate_decay: After v visits, α is divided by v to this power.
        backwards: Learn from the last action of a game to the first; else from the first on.
        epsilon: Probability of a random action at the start.
        epsilon_decrease: Decrease of epsilon per step.
        epsilon_every: Games per step of epsilon.
        gamma: The discount factor γ.
        loss_weight: The cost of a loss, relative to the gain of a win.
        initial: Initial value of every action; optimistic values encourage exploration. None is the
            score of making the largest tile that a board can hold.
        merge_symmetric: Whether boards that are images of each other share their entries.
    """

    opponent: OpponentOrSelf = "random"
    n_envs: Count = 1
    sequential: bool = False
    learning_rate: Rate = 0.9
    learning_rate_decay: Fraction = 0.0
    backwards: bool = True
    epsilon: Fraction = 0.7
    epsilon_decrease: Fraction = 0.1
    epsilon_every: Count = 700
    gamma: Fraction = 0.9
    loss_weight: Weight = 1.0
    initial: Finite | None = 0.0
    merge_symmetric: bool = True


class QTable(EpisodicLearner):
    """A table of Q(s, a), `q`, and of the updates of each, `visits`: both `(boards, n_actions)`."""

    Settings = QTableSettings
    test_games = 100
    saved = ("q", "visits")

    def __init__(self, game: Game, seed: int = 0, settings: Any = None, sides: Sides = ()) -> None:
        super().__init__(game, seed, settings, sides)
        settings = self._settings
        if settings.sequential:
            if not isinstance(game, SlidingGame):
                raise UsageError("sequential is for the sliding games, not for tic-tac-toe.")
            check_packs(game.shape, "sequential", "leave it out")
        self._codes = BoardCodes(game, settings.merge_symmetric)
        shape = self._codes.size, game.n_actions
        check_memory(16 * math.prod(shape), f"a table for {game}", "give a smaller shape")
        self.q = np.full(shape, self._settings.initial or 0.0, np.float64)
        self.visits = np.zeros(shape, np.int64)

    def action_values(self, observations: Observations) -> Floats:
        legal = self._game.legal_actions(observations) > 0
        return self._values(self._entries(observations), legal)

    def learn(self) -> Metrics:
        if not self._settings.sequential:
            return super().learn()
        from baselines.tabular.sequential import learn_games  # imports numba
        from tile_envs.sliding.packed.kernels import game_tables, rows_of

        game: Any = self._game
        s, codes = self._settings, self._codes
        words = codes.weights.astype(np.uint64), codes.actions.astype(np.uint64)
        table = self.q, self.visits, *words, np.uint64(codes.n_values - 1)
        rule = self.epsilon, s.gamma, s.learning_rate, s.learning_rate_decay, s.backwards
        rng = training_generator(self._seed, self.iterations, 0)
        boards, positions = game.start.boards(starts(training_seeds(rng, self._n_envs)))
        explorers = rng.integers(1 << 64, size=self._n_envs, dtype=np.uint64)
        rows = rows_of(game, boards)
        scores, moves = learn_games(game_tables(game), table, rule, rows, positions, explorers)
        return self._count(self._n_envs, moves, scores)

    def test(self, games: int) -> Metrics:
        if not is_solved_quickly(self._game):
            return super().test(games)
        from baselines.evaluation.exact import expected  # imports numba

        return {"greedy_return": expected(self, self._game).score}

    def update(self, episodes: Episodes) -> None:
        playing, s = episodes.playing, self._settings
        q, visits = self.q.reshape(-1), self.visits.reshape(-1)
        boards, rewards = episodes.observations[playing], episodes.rewards[playing]
        entries, legal = self._entries(boards), self._game.legal_actions(boards) > 0
        taken = entries[np.arange(len(entries)), episodes.actions[playing]]
        targets = np.where(rewards < 0, rewards * s.loss_weight, rewards)
        begins, continues = np.cumsum([0, *playing.sum(axis=1), 0]), episodes.continues[playing]
        steps, alpha = range(len(playing)), (s.learning_rate, s.learning_rate_decay)
        for t in reversed(steps) if s.backwards else steps:
            now, following = slice(*begins[t : t + 2]), slice(*begins[t + 1 : t + 3])
            best = self._values(entries[following], legal[following]).max(axis=1)
            if self.self_play:
                best = from_opponent(best, s.loss_weight)
            targets[now][continues[now]] += s.gamma * best
            move_entries(q, visits, taken[now], targets[now], *alpha)

    def _entries(self, observations: Observations) -> Ints:
        """Return where each action's entry is in the flat table, `(n, actions)`."""
        codes, actions = self._codes.of(observations)
        return codes[:, None] * self._game.n_actions + actions

    def _values(self, entries: Ints, legal: Bools) -> Floats:
        return np.where(legal, self.q.reshape(-1)[entries], -np.inf)
