"""The deep Q-learning of a beginner's article of 2020, as it was described.

An iteration plays 20 games of 2048 and stores their transitions (s, a, r, s'); then it learns from
the 1,000 newest and 2,000 others for 100 epochs, towards targets r + max Q(s', a') over the
legal actions a', computed once.  The network takes a board and one action, and returns Q(s, a): a
small convolution reads the faces of the board, and dense layers read its output and the action.

Differences from the article:

1.  It is written in torch, not in Keras; weights are initialized, and the optimizer is set, as in
    Keras.
2.  The 20 games of an iteration are played side by side.
3.  The score of an iteration is the mean of 20 games, not one game, and they are played as the
    article's best result was: with a search that tries each move and draws one new tile after it.
    A network whose score is the best so far is scored again six times; if the mean of these
    scores is the best as well, it is kept for evaluation.  The article's author chose a network by
    hand.
4.  The article's ideas for later are settings.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from stable_baselines3.common.torch_layers import create_mlp
from torch import Tensor, nn

from baselines.agents import Observations
from baselines.deep import torch_setup
from baselines.search.batched_expectimax import BatchedSearch
from baselines.seeds import training_generator, training_seeds
from baselines.training.episodes import (
    Episodes,
    EpisodicLearner,
    collect,
    epsilon_greedy,
    training_envs,
)
from baselines.training.learner import Metrics, State
from tile_envs.game import Game
from tile_envs.sliding import SlidingGame

GAMES, NEWEST, LEARNING_STARTS = 20, 1_000, 5_000
"""Games of an iteration and of a score; newest transitions of a sample; those before the first."""
EPSILON, FIRST_EPSILON, FIRST_ITERATIONS = 0.1, 0.2, 30
"""The probability of a random action, that of the first iterations, and their number."""
EPOCHS, CONFIRMATIONS, HIDDEN = 100, 6, (2048, 1024)
"""Passes over a sample; scores that confirm a new best network; units of its dense layers."""


@dataclass(frozen=True)
class ArticleSettings:
    """The article's ideas for later.

    Attributes:
        one_hot: Whether the network sees one-hot planes instead of faces.
        epsilon_halving: Iterations after which ε is halved, again and again; 0 never halves it.
        buffer_size: Transitions in the replay buffer.
        others: Transitions of a sample that are drawn from all before the newest.
        batch_size: Transitions of a gradient step.
    """

    one_hot: bool = False
    epsilon_halving: int = 0
    buffer_size: int = 50_000
    others: int = 2_000
    batch_size: int = 250


class RingBuffer:
    """The newest transitions, in one array for each of their parts.

    Args:
        size: Number of transitions that there is room for.
        **parts: The dtype of each part of a transition, such as `(np.uint8, shape)`.

    Attributes:
        arrays: The parts by name, `(size, ...)`; transition number n is at `n % size`.
            Also `stored`, `() int64`: the transitions ever stored.
    """

    def __init__(self, size: int, **parts: DTypeLike) -> None:
        self.arrays = {name: np.zeros(size, dtype) for name, dtype in parts.items()}
        self.arrays["stored"] = self.stored = np.zeros((), np.int64)
        self._size = size

    def __len__(self) -> int:
        return min(int(self.stored), self._size)

    def store(self, **parts: NDArray[Any]) -> None:
        """Store transitions, `(n, ...)` for each part, in place of the oldest."""
        numbers = self.stored + np.arange(len(next(iter(parts.values()))))
        for name, values in parts.items():
            self.arrays[name][numbers % self._size] = values
        self.stored += len(numbers)

    def take(self, numbers: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return transitions by their numbers `(n,)`, counted from the first ever stored."""
        parts = {name: values for name, values in self.arrays.items() if values.ndim}
        return {name: values[numbers % self._size] for name, values in parts.items()}


class Network(nn.Module):
    """Q(s, a) of pairs of board and action."""

    faces: Tensor

    def __init__(self, game: SlidingGame, one_hot: bool) -> None:
        super().__init__()
        faces = torch.tensor(game.rules.faces, dtype=torch.float32)
        self.register_buffer("faces", faces, persistent=False)
        self._game, self._one_hot = game, one_hot
        self.convolution = nn.Conv2d(len(faces) if one_hot else 1, 8, 3, padding=1)
        inputs = 8 * math.prod(game.shape) + game.n_actions
        self.dense = nn.Sequential(*create_mlp(inputs, -1, list(HIDDEN)))
        self.last = nn.Linear(HIDDEN[-1], 1)
        self.apply(_initialize_as_keras)

    def forward(self, boards: Tensor, actions: Tensor) -> Tensor:
        """Return `(n,)` for boards `(n, R, C)` and actions `(n,)`."""
        if self._one_hot:
            planes = nn.functional.one_hot(boards.long(), len(self.faces)).float().movedim(-1, 1)
        else:
            planes = self.faces[boards.long()][:, None]
        chosen = nn.functional.one_hot(actions, self._game.n_actions).float()
        seen = torch.relu(self.convolution(planes)).flatten(1)
        values: Tensor = self.last(self.dense(torch.cat((seen, chosen), 1)))[:, 0]
        return values

    @torch.no_grad()
    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return the value of each action; minus infinity for illegal ones."""
        masks = self._game.legal_actions(observations) > 0
        boards, actions = np.nonzero(masks)
        values = np.full(masks.shape, -np.inf)
        # At most so many pairs of board and action in one forward pass.
        for pairs in np.array_split(np.arange(len(boards)), len(boards) // 4096 + 1):
            seen = torch.as_tensor(np.asarray(observations)[boards[pairs]])
            of_pairs = self(seen, torch.as_tensor(actions[pairs]))
            values[boards[pairs], actions[pairs]] = of_pairs.numpy()
        return values


def _initialize_as_keras(layer: nn.Module) -> None:
    if isinstance(layer, nn.Conv2d | nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)  # type: ignore[arg-type]


class Article(EpisodicLearner):
    """Learns as the article did; plays with the best network of all iterations.

    Attributes:
        score: The mean score of the newest network's games with search, `() float64`.
        best_score: That of the best network so far.
    """

    Settings = ArticleSettings
    plays = SlidingGame
    saved = ("score", "best_score")

    def __init__(
        self, game: Game, seed: int = 0, settings: Any = None, sides: tuple[str, ...] = ()
    ) -> None:
        super().__init__(game, seed, GAMES, "", sides, settings)
        (self._score_envs,) = training_envs(self._game, (), "", GAMES)
        one_hot = self._settings.one_hot
        with torch_setup.torch_threads(1), torch_setup.seed_generators(seed, "weights"):
            self._newest: Any = Network(self._game, one_hot)
            self._best: Any = Network(self._game, one_hot)
        self._best.load_state_dict(self._newest.state_dict())
        self.score, self.best_score = np.zeros(()), np.zeros(())
        self._optimizer = torch.optim.RMSprop(
            self._newest.parameters(), lr=1e-3, alpha=0.9, eps=1e-7
        )
        torch_setup.begin_moments(self._optimizer, "square_avg")
        self._buffer = RingBuffer(
            self._settings.buffer_size,
            boards=(np.uint8, self._game.shape),
            actions=(np.int64, ()),
            rewards=(np.float32, ()),
            following=(np.uint8, self._game.shape),
            over=(np.bool_, ()),
        )

    def learn(self) -> Metrics:
        """Play the games of an iteration, learn from a sample, and score the network.

        Returns:
            The mean return of the games, the score, and the best score so far.
        """
        with torch_setup.torch_threads(1, learning=True):
            return super().learn() | {name: float(getattr(self, name)) for name in self.saved}

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return the best network's value of each action; minus infinity for illegal ones."""
        with torch_setup.torch_threads(1):
            values: NDArray[np.float64] = self._best.action_values(observations)
        return values

    def explore(
        self, observations: Observations, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return ε-greedy actions; every tenth game is played greedily."""
        is_first = self.iterations < FIRST_ITERATIONS
        epsilon = np.full(len(masks), FIRST_EPSILON if is_first else EPSILON)
        if halving := self._settings.epsilon_halving:
            epsilon *= 0.5 ** (self.iterations // halving)
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
        has_begun = self._buffer.stored >= max(LEARNING_STARTS, NEWEST + self._settings.others)
        if has_begun:
            self._fit(rng)
        self.score[...] = self._score(rng)
        # Random weights may play well by chance, which is no result of learning.
        if has_begun and self.score > self.best_score:
            confirmed = sum(self._score(rng) for _ in range(CONFIRMATIONS)) / CONFIRMATIONS
            if confirmed > self.best_score:
                self.best_score[...] = confirmed
                self._best.load_state_dict(self._newest.state_dict())

    def _score(self, rng: np.random.Generator) -> float:
        seeds = training_seeds(rng, GAMES)
        search = BatchedSearch(self._newest, self._game, rng, samples=1)
        depths = np.full(GAMES, 2)
        played = collect(
            self._score_envs, seeds, lambda boards, _: search(boards, depths).argmax(axis=1)
        )
        return float(played.returns.mean())

    def _fit(self, rng: np.random.Generator) -> None:
        """Move Q(s, a) of a sample towards r + max Q(s', a'), or r after a game's last action."""
        older = len(self._buffer) - NEWEST
        others = NEWEST + rng.choice(older, self._settings.others, replace=False)
        ages = np.concatenate((np.arange(NEWEST), others))
        sample = self._buffer.take(self._buffer.stored - 1 - ages)
        best = self._newest.action_values(sample["following"]).max(axis=1)
        targets = sample["rewards"] + np.where(sample["over"], 0.0, best)
        boards, actions = torch.as_tensor(sample["boards"]), torch.as_tensor(sample["actions"])
        wanted = torch.as_tensor(targets.astype(np.float32))
        for _ in range(EPOCHS):
            order = torch.as_tensor(rng.permutation(len(targets)))
            for chosen in torch.split(order, self._settings.batch_size):
                values = self._newest(boards[chosen], actions[chosen])
                loss = nn.functional.mse_loss(values, wanted[chosen])
                self._optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self._optimizer.step()

    def _arrays(self) -> State:
        moments = enumerate(self._optimizer.state.values())
        parts: dict[str, dict[Any, Any]] = {
            "buffer": self._buffer.arrays,
            "network": self._newest.state_dict(),
            "best": self._best.state_dict(),
            "rmsprop": {i: held["square_avg"] for i, held in moments},
        }
        arrays = {
            f"{p} {n}": np.asarray(a) for p, values in parts.items() for n, a in values.items()
        }
        return super()._arrays() | arrays
