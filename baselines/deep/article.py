"""The deep Q-learning of a beginner's article of 2020, as it was described.

An iteration plays 20 games of 2048 and stores their transitions (s, a, r, s'); then it learns from
the 1,000 newest and 2,000 others for 100 epochs, towards targets r + max Q(s', a') over the
legal actions a', computed once.  The network takes a board and one action, and returns Q(s, a): a
small convolution reads the faces of the board, and dense layers read its output and the action.

Differences from the article:

1.  It is written in torch, not in Keras; weights are initialized, and the optimizer is set, as in
    Keras.
2.  The 20 games of an iteration are played side by side.
3.  The score of an iteration is the mean of several games, not one game, and they are played as the
    article's best result was: with a search that tries each move and draws one new tile after it.
    A network whose score is the best so far is scored again several times; if the mean of these
    scores is the best as well, it is kept for evaluation.  The article's author chose a network by
    hand.
4.  The article's ideas for later are settings: one-hot planes instead of faces, a decreasing ε, a
    larger buffer, other sizes of samples and minibatches, another number of epochs.
5.  All layers but the last compute in bfloat16 where the hardware is fast at it.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.torch_layers import create_mlp
from torch import Tensor, nn

from baselines.agents import Observations, ValueAgent
from baselines.deep import torch_setup
from baselines.search.batched_expectimax import BatchedSearch
from baselines.seeds import training_generator, training_seeds
from baselines.settings import Count, Fraction, NonNegative, Positive, Threads
from baselines.training.episodes import (
    Episodes,
    EpsilonGreedyLearner,
    RingBuffer,
    collect,
    epsilon_greedy,
    training_envs,
)
from baselines.training.learner import Metrics, State
from tile_envs.errors import UsageError
from tile_envs.sliding import SlidingGame


@dataclass(frozen=True)
class ArticleSettings:
    """The article's recipe.

    Attributes:
        iteration_games: Games of an iteration; every tenth is played without exploration.
        epsilon: Probability of a random action.
        first_epsilon: Probability of a random action in the first iterations.
        first_iterations: Number of these iterations.
        epsilon_halving: Iterations after which ε is halved, again and again; 0 never halves it.
        buffer_size: Transitions in the replay buffer.
        learning_starts: Transitions in the buffer before learning begins.
        newest: Newest transitions in a sample.
        others: Transitions of a sample that are drawn from all before the newest.
        batch_size: Transitions of a gradient step.
        n_epochs: Passes over each sample.
        learning_rate: Learning rate of RMSprop.
        one_hot: Whether the network sees one-hot planes instead of faces.
        score_games: Games of a score.
        confirmations: Re-evaluations that confirm a new best network.
        threads: Threads of torch.
        precision: Precision of the networks; auto is bfloat16 where the hardware is fast at it.
    """

    iteration_games: Count = 20
    epsilon: Fraction = 0.1
    first_epsilon: Fraction = 0.2
    first_iterations: NonNegative = 30
    epsilon_halving: NonNegative = 0
    buffer_size: Count = 50_000
    learning_starts: Count = 5_000
    newest: Count = 1_000
    others: Count = 2_000
    batch_size: Count = 250
    n_epochs: Count = 100
    learning_rate: Positive = 1e-3
    one_hot: bool = False
    score_games: Count = 20
    confirmations: Count = 6
    threads: Threads = 2
    precision: torch_setup.Precision = "auto"

    opponent = ""  # no setting: the games have no sides

    @property
    def n_envs(self) -> int:
        """The games of an iteration are played side by side."""
        return self.iteration_games

    def __post_init__(self) -> None:
        if not self.newest + self.others <= self.learning_starts <= self.buffer_size:
            raise UsageError(
                "learning_starts must be from newest + others to buffer_size, "
                f"{self.newest + self.others:,} to {self.buffer_size:,}, "
                f"got {self.learning_starts:,}."
            )


class ArticleNetwork(nn.Module):
    """Q(s, a) of pairs of board and action; all layers but the last can compute in bfloat16."""

    faces: Tensor

    def __init__(self, game: SlidingGame, one_hot: bool, bfloat16: bool) -> None:
        super().__init__()
        faces = torch.tensor(game.rules.faces, dtype=torch.float32)
        self.register_buffer("faces", faces, persistent=False)
        self._one_hot, self._bfloat16 = one_hot, bfloat16
        self._n_actions = game.n_actions
        self.convolution = nn.Conv2d(len(faces) if one_hot else 1, 8, 3, padding=1)
        inputs = 8 * math.prod(game.shape) + game.n_actions
        self.dense = nn.Sequential(*create_mlp(inputs, -1, [2048, 1024]))
        self.last = nn.Linear(1024, 1)
        self.apply(_initialize_as_keras)

    def forward(self, boards: Tensor, actions: Tensor) -> Tensor:
        """Return `(n,)` for boards `(n, R, C)` and actions `(n,)`."""
        if self._one_hot:
            planes = nn.functional.one_hot(boards.long(), len(self.faces)).float().movedim(-1, 1)
        else:
            planes = self.faces[boards.long()][:, None]
        chosen = nn.functional.one_hot(actions, self._n_actions).float()
        with torch.autocast(boards.device.type, torch.bfloat16, enabled=self._bfloat16):
            seen = torch.relu(self.convolution(planes)).flatten(1)
            dense = self.dense(torch.cat((seen, chosen), 1))
        values: Tensor = self.last(dense.float())[:, 0]
        return values


def _initialize_as_keras(layer: nn.Module) -> None:
    if isinstance(layer, nn.Conv2d | nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)  # type: ignore[arg-type]


class NetworkPlayer(ValueAgent):
    """Plays by the values of a network."""

    def __init__(self, game: SlidingGame, network: ArticleNetwork) -> None:
        self._game, self.network = game, network

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return the network's value of each action; minus infinity for illegal ones."""
        masks = self._game.legal_actions(observations) > 0
        boards, actions = np.nonzero(masks)
        values = np.full(masks.shape, -np.inf)
        with torch.no_grad():
            # At most so many pairs of board and action in one forward pass.
            for pairs in np.array_split(np.arange(len(boards)), len(boards) // 4096 + 1):
                seen = torch.as_tensor(np.asarray(observations)[boards[pairs]])
                of_pairs = self.network(seen, torch.as_tensor(actions[pairs]))
                values[boards[pairs], actions[pairs]] = of_pairs.numpy()
        return values


class Article(EpsilonGreedyLearner):
    """Learns as the article did; plays with the best network of all iterations.

    Attributes:
        score: The mean score of the network's games with search, `() float64`.
        best_score: That of the best network so far.
    """

    Settings = ArticleSettings
    version = 2
    plays = SlidingGame
    saved = ("score", "best_score")
    resolve = staticmethod(torch_setup.resolved)
    for_playing = staticmethod(torch_setup.for_playing)
    _game: SlidingGame
    _settings: ArticleSettings

    def _build(self) -> None:
        game, settings = self._game, self._settings
        (self._score_envs,) = training_envs(game.without_starts(), (), "", settings.score_games)
        with torch_setup.torch_threads(1), torch_setup.seed_generators(self._seed, "weights"):
            bfloat16 = torch_setup.uses_bfloat16(settings.precision)
            network = ArticleNetwork(game, settings.one_hot, bfloat16)
        self._newest = NetworkPlayer(game, network)
        self._best = NetworkPlayer(game, deepcopy(network))
        self.score, self.best_score = np.zeros(()), np.zeros(())
        self._optimizer = torch.optim.RMSprop(
            network.parameters(), lr=settings.learning_rate, alpha=0.9, eps=1e-7
        )
        self._buffer = RingBuffer(
            settings.buffer_size,
            boards=(np.uint8, game.shape),
            actions=(np.int64, ()),
            rewards=(np.float32, ()),
            following=(np.uint8, game.shape),
            over=(np.bool_, ()),
        )

    def learn(self) -> Metrics:
        """Play the games of an iteration, learn from a sample, and score the network.

        Returns:
            The mean return of the games, the score, and the best score so far.
        """
        with torch_setup.torch_threads(self._settings.threads, learning=True):
            return super().learn() | {name: float(getattr(self, name)) for name in self.saved}

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return the best network's value of each action; minus infinity for illegal ones."""
        with torch_setup.torch_threads(self._settings.threads):
            return self._best.action_values(observations)

    def explore(
        self, observations: Observations, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return ε-greedy actions; every tenth game is played greedily."""
        settings, iteration = self._settings, self.iterations
        is_first = iteration < settings.first_iterations
        epsilon = np.full(len(masks), settings.first_epsilon if is_first else settings.epsilon)
        if settings.epsilon_halving:
            epsilon *= 0.5 ** (iteration // settings.epsilon_halving)
        epsilon[::10] = 0.0
        return epsilon_greedy(self._newest.action_values(observations), masks, epsilon, rng)

    def update(self, episodes: Episodes) -> None:
        """Store the transitions game by game, learn from a sample, and score the network."""
        rng = training_generator(self._seed, self.iterations, 1)
        playing = episodes.playing.T
        boards = episodes.observations.swapaxes(0, 1)
        self._buffer.store(
            boards=boards[playing],
            actions=episodes.actions.T[playing],
            rewards=episodes.rewards.T[playing],
            following=np.roll(boards, -1, axis=1)[playing],
            over=~episodes.continues.T[playing],
        )
        has_begun = self._buffer.stored >= self._settings.learning_starts
        if has_begun:
            self._fit(self._sample(rng), rng)
        self.score[...] = self._score(rng)
        # Random weights may play well by chance, which is no result of learning.
        if has_begun and self.score > self.best_score:
            scores = [self._score(rng) for _ in range(self._settings.confirmations)]
            confirmed = sum(scores) / len(scores)
            if confirmed > self.best_score:
                self.best_score[...] = confirmed
                self._best.network.load_state_dict(self._newest.network.state_dict())

    def _score(self, rng: np.random.Generator) -> float:
        seeds = training_seeds(rng, self._settings.score_games)
        search = BatchedSearch(self._newest, self._game, rng, samples=1)
        played = collect(
            self._score_envs,
            seeds,
            lambda boards, _: search(boards, np.full(len(boards), 2)).argmax(1),
        )
        return float(played.returns.mean())

    def _sample(self, rng: np.random.Generator) -> State:
        """Return a sample of the buffer: the newest transitions, and others from before them."""
        settings = self._settings
        older = len(self._buffer) - settings.newest
        others = settings.newest + rng.choice(older, settings.others, replace=False)
        ages = np.concatenate((np.arange(settings.newest), others))
        return self._buffer.take(self._buffer.stored - 1 - ages)

    def _fit(self, sample: State, rng: np.random.Generator) -> None:
        """Move Q(s, a) towards r + max Q(s', a'), or r after a game's last action."""
        best = self._newest.action_values(sample["following"]).max(axis=1)
        targets = sample["rewards"] + np.where(sample["over"], 0.0, best)
        boards, actions = torch.as_tensor(sample["boards"]), torch.as_tensor(sample["actions"])
        wanted = torch.as_tensor(targets.astype(np.float32))
        for _ in range(self._settings.n_epochs):
            order = torch.as_tensor(rng.permutation(len(targets)))
            for chosen in torch.split(order, self._settings.batch_size):
                values = self._newest.network(boards[chosen], actions[chosen])
                loss = nn.functional.mse_loss(values, wanted[chosen])
                self._optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self._optimizer.step()

    def export_state(self) -> State:
        """Return a state that is enough for playing, with zeros in what learning alone needs."""
        return torch_setup.without(self.state_dict(), "buffer", "rmsprop")

    def _arrays(self) -> State:
        rmsprop = torch_setup.moments(self._optimizer, "square_avg")
        return super()._arrays() | torch_setup.pack_parts(
            {
                "buffer": self._buffer.state,
                "network": self._newest.network.state_dict(),
                "best": self._best.network.state_dict(),
                "rmsprop": torch_setup.part_of(rmsprop, "square_avg"),
            }
        )
