"""The n-tuple learner in plain Python: slow, and short enough to learn from.

`ntuple` tells what an episode is and names the articles, `network` defines V(s').  The agent plays
the best action, a_t = argmax over a of r + V(s').  Learning moves V(s_t') towards a target G_t,
which is made of what followed: each of the m entries changes by α/m (G_t - V(s_t')).

    learner = PlainNTuple(SlidingGame(RULES_2048), settings=NTupleSettings(network="0123 4567"))
    scores = [learner.learn() for _ in range(100)]

The compiled learner does the same with all settings, in single precision, a thousand times faster.
"""

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.agents import ValueAgent
from baselines.ntuple.learning import SHORTEST_RESTART
from baselines.ntuple.network import Network
from baselines.ntuple.ntuple import NTupleSettings
from baselines.seeds import training_seeds
from baselines.solver.boards import initial_value
from tile_envs.base.random_stream import starts
from tile_envs.game import Floats, Observations
from tile_envs.sliding.game import SlidingGame

Board = NDArray[np.uint8]
Entry = tuple[int, ...]
"""The number of a tuple, and the tiles on its cells."""


class Move(NamedTuple):
    """A move s_t --(a_t, r_t)--> s_t'."""

    reward: int  # r_t
    afterstate: Board  # s_t', `(R, C)`
    value: float  # V(s_t') at the time of the move


class PlainNTuple(ValueAgent):
    """An n-tuple network that learns as `baselines.ntuple.ntuple.NTuple` does.

    Of the settings, stages, halves, means, iterations and threads are left to the compiled learner;
    restart is 0 or 1.
    """

    def __init__(
        self, game: SlidingGame, seed: int = 0, settings: NTupleSettings | None = None
    ) -> None:
        self.game, self.rng = game, np.random.default_rng(seed)
        self.settings = settings or NTupleSettings()
        network = Network.of(game, self.settings.network, self.settings.values, ())
        self.tuples, self.values, self.m = network.tuples, network.values, network.per_board
        initial = initial_value(self.settings.initial, game) / self.m
        self.weights: dict[Entry, float] = defaultdict(lambda: initial)
        self.errors: dict[Entry, float] = defaultdict(float)  # E, the sum of an entry's errors
        self.sizes: dict[Entry, float] = defaultdict(float)  # A, that of their absolute values

    def entries(self, board: Board) -> list[Entry]:
        """Return the m entries of a board, one for each tuple in each symmetric orientation."""
        tiles = np.minimum(board.ravel(), self.values - 1)  # larger ones share the last value
        images = tiles[self.game.symmetries.cells].tolist()
        tuples = [*enumerate(self.tuples)]
        return [(i, *(image[cell] for cell in cells)) for image in images for i, cells in tuples]

    def value(self, afterstate: Board) -> float:
        """Return V(s'), the sum of the entries."""
        return sum(self.weights[entry] for entry in self.entries(afterstate))

    def update(self, afterstate: Board, error: float) -> None:
        """Change the entries of an afterstate by its error δ = G - V(s').

            TD    w ← w + α/m δ
            TC    w ← w + α/m δ |E| / A,    E ← E + δ,    A ← A + |δ|

        Temporal coherence (TC) gives each entry a rate of its own, 1 at first: it remains high as
        long as the errors have the same sign, and falls when they cancel out.
        """
        for entry in self.entries(afterstate):
            rate = self.settings.learning_rate / self.m
            if self.settings.method == "tc":
                rate *= self.own_rate(entry)
                self.errors[entry] += error
                self.sizes[entry] += abs(error)
            self.weights[entry] += rate * error

    def own_rate(self, entry: Entry) -> float:
        """Return |E| / A of an entry, 1 as long as A is 0."""
        return abs(self.errors[entry]) / self.sizes[entry] if self.sizes[entry] > 0 else 1.0

    def action_values(self, observations: Observations) -> Floats:
        """Return r + V(s') of each action, `(n, 4)`; minus infinity for illegal ones."""
        afterstates, rewards, masks = self.game.afterstates(observations)
        values = np.array([[self.value(after) for after in of_state] for of_state in afterstates])
        return np.where(masks > 0, rewards + values.reshape(rewards.shape), -np.inf)

    def choose(self, state: Board) -> Move | None:
        """Return the move with the highest r + V(s'), the first of several; None at the end."""
        (afterstates,), (rewards,), (masks,) = self.game.afterstates(state[None])
        moves = [
            Move(int(rewards[action]), afterstates[action], self.value(afterstates[action]))
            for action in np.flatnonzero(masks)
        ]
        return max(moves, key=lambda move: move.reward + move.value, default=None)

    def reply(self, afterstate: Board) -> Board:
        """Return the next state: a new tile appears, s_t' --(new tile)--> s_t+1."""
        _, states, probabilities = self.game.replies(afterstate[None])
        return np.asarray(states[self.rng.choice(len(states), p=probabilities)])

    def learn(self) -> int:
        """Play a game, learn from it, and return its score."""
        (state,), _ = self.game.start.boards(starts(training_seeds(self.rng, 1)))
        learn = self.learn_forward if self.settings.direction == "forward" else self.learn_backward
        return sum(move.reward for move in learn(state))

    def learn_forward(self, state: Board) -> list[Move]:
        """Play a game, and update each afterstate as soon as the next move is chosen: TD(0).

        G_t = r_t+1 + V(s_t+1'),    0 if no move is legal in s_t+1
        """
        episode = []
        move = self.choose(state)
        while move is not None:
            episode.append(move)
            following = self.choose(self.reply(move.afterstate))
            target = 0.0 if following is None else following.reward + following.value
            self.update(move.afterstate, target - move.value)
            move = following
        return episode

    def learn_backward(self, state: Board) -> list[Move]:
        """Play a game, and update its afterstates from the last to the first: TD(λ).

            G_t = r_t+1 + (1 - λ) V(s_t+1') + λ G_t+1,    0 after the last move

        V(s_t+1') has been updated by then.  With restart, another game then begins in the middle of
        this one, so that late positions are seen as often as early ones.
        """
        episode, decay, target = [], self.settings.trace_decay, 0.0
        while (move := self.choose(state)) is not None:
            episode.append(move)
            state = self.reply(move.afterstate)
        for move in reversed(episode):
            self.update(move.afterstate, target - self.value(move.afterstate))
            value = self.value(move.afterstate)
            target = move.reward + (1 - decay) * value + decay * target
        if self.settings.restart and len(episode) > SHORTEST_RESTART:
            self.learn_backward(self.reply(episode[len(episode) // 2].afterstate))
        return episode
