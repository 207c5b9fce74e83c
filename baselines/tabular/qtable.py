"""Q-learning with a table, for tic-tac-toe and for sliding games on small boards.

The table holds Q(s, a), the return to expect from action a in state s.  After a batch of games,
every action moves its entry towards what followed,

    Q(s, a) ← Q(s, a) + α (r + γ max_a' Q(s', a') - Q(s, a)),

from the last action of a game to the first, so that a result reaches the first action at once
(Watkins and Dayan, "Q-learning", 1992).  In self-play the next state is the other player's, and its
value is turned into one's own: negative, and a loss costs `loss_weight`.

Against a random opponent, the best O accepts a few losses.  `loss_weight` makes a loss cost more
than a win brings; the best O is then one that never loses.

The defaults are those of a published Q-table for tic-tac-toe, whose learning rate is not known.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Observations
from baselines.seeds import training_generator, training_seeds
from baselines.settings import Count, Finite, Fraction, OpponentOrSelf, Rate, Weight
from baselines.solver.boards import initial_value, is_solved_quickly
from baselines.tabular.boards import BoardCodes, move_entries, turned
from baselines.training.episodes import Episodes, EpsilonGreedyLearner, epsilon_greedy
from baselines.training.learner import Metrics
from tile_envs.base.random_stream import starts
from tile_envs.errors import UsageError
from tile_envs.sliding import SlidingGame
from tile_envs.sliding.packed.tables import check_packs

LARGEST_TABLE = 1 << 30
"""Maximum size of a table in bytes."""


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


class QTable(EpsilonGreedyLearner):
    """A table of Q(s, a), and the agent that plays the action with the highest value.

    Attributes:
        q: `(boards, n_actions) float64`, the values.
        visits: `(boards, n_actions) int64`, the number of updates of each.
    """

    Settings = QTableSettings
    saved = ("q", "visits")
    _settings: QTableSettings

    def _build(self) -> None:
        game, settings = self._game, self._settings
        if settings.sequential and not isinstance(game, SlidingGame):
            raise UsageError("sequential is for the sliding games, not for tic-tac-toe.")
        if settings.sequential:
            check_packs(game.shape, "sequential", "leave it out")
        self._codes = BoardCodes(game, settings.merge_symmetric)
        needed = self._codes.size * game.n_actions * 16  # a value and the number of its visits
        if needed > LARGEST_TABLE:
            raise UsageError(
                f"a table for boards of {game.shape[0]}×{game.shape[1]} with {game.n_values} "
                f"values a cell takes {needed / 2**30:,.4g} GiB, and {LARGEST_TABLE >> 30} GiB are "
                "allowed: use a smaller shape, such as (2, 3)."
            )
        initial = initial_value(settings.initial, game)
        self.q = np.full((self._codes.size, game.n_actions), initial, np.float64)
        self.visits = np.zeros(self.q.shape, np.int64)

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return Q of each action, `(n, actions)`; minus infinity for illegal ones."""
        legal = self._game.legal_actions(observations) > 0
        return self._values(self._entries(observations), legal)

    def explore(
        self, observations: Observations, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return ε-greedy actions, as others do, without finding the masks again."""
        values = self._values(self._entries(observations), masks)
        return epsilon_greedy(values, masks, self._epsilon, rng)

    def learn(self) -> Metrics:
        """Play the games of an iteration, and learn from them; see `EpisodicLearner.learn`."""
        if not self._settings.sequential:
            return super().learn()
        from baselines.tabular.sequential import Rule, Table, learn_games  # imports numba
        from tile_envs.sliding.packed.kernels import game_tables, rows_of

        game, settings, codes = self._game, self._settings, self._codes
        assert isinstance(game, SlidingGame)
        table = Table(
            self.q.reshape(-1),
            self.visits.reshape(-1),
            codes.weights.astype(np.uint64),
            codes.actions.astype(np.uint64),
            np.uint64(codes.n_values - 1),
        )
        values = vars(settings) | {"epsilon": self._epsilon}
        rule = Rule(**{name: values[name] for name in Rule._fields})
        rng = training_generator(self._seed, self.iterations, 0)
        boards, positions = game.start.boards(starts(training_seeds(rng, self._n_envs)))
        explorers = rng.integers(1 << 64, size=self._n_envs, dtype=np.uint64)
        rows = rows_of(game, boards)
        scores, moves = learn_games(game_tables(game), table, rule, rows, positions, explorers)
        return self._count(self._n_envs, moves, scores)

    def test(self, games: int) -> Metrics | None:
        """Return the exact expected score on small boards; None elsewhere."""
        if not is_solved_quickly(self._game):
            return None
        from baselines.evaluation.exact import expected  # imports numba

        return {"greedy_return": expected(self, self._game).score}

    def update(self, episodes: Episodes) -> None:
        """Move Q(s, a) of every action towards its target."""
        playing, settings = episodes.playing, self._settings
        q, visits = self.q.reshape(-1), self.visits.reshape(-1)
        boards = episodes.observations[playing]
        entries, legal = self._entries(boards), self._game.legal_actions(boards) > 0
        begins = np.cumsum([0, *playing.sum(axis=1)])
        last = len(playing) - 1
        for t in range(last, -1, -1) if settings.backwards else range(last + 1):
            rewards = episodes.rewards[t][playing[t]]
            targets = np.where(rewards < 0, rewards * settings.loss_weight, rewards)
            if t < last:
                following = slice(begins[t + 1], begins[t + 2])
                best = self._values(entries[following], legal[following]).max(axis=1)
                best = turned(best, settings.loss_weight) if self.self_play else best
                targets[playing[t + 1][playing[t]]] += settings.gamma * best
            acting = entries[begins[t] : begins[t + 1]]
            taken = episodes.actions[t][playing[t]]
            moved = acting[np.arange(len(acting)), taken]
            rate, decay = settings.learning_rate, settings.learning_rate_decay
            move_entries(q, visits, moved, targets, rate, decay)

    def _entries(self, observations: Observations) -> NDArray[np.int64]:
        """Return where each action's entry is in the flat table, `(n, actions)`."""
        codes, actions = self._codes.of(observations)
        return codes[:, None] * self._game.n_actions + actions

    def _values(self, entries: NDArray[np.int64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.where(legal, self.q.reshape(-1)[entries], -np.inf)
