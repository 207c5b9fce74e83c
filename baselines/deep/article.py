"""The deep Q-learning of a beginner's article of 2020, as it was described.

An iteration plays 20 games and stores their transitions; then 1,000 of the newest and 2,000 others
are learned from for 100 epochs, with targets r + max Q(s', ·) over the legal actions.  The network
takes the board's faces and, beside what a small convolution makes of them, one action: it says
Q(s, a) for one action at a time.

What is not as in the article, by number:

1.  It is written in torch, not Keras; weights begin, and the optimizer has its numbers, as there.
2.  The 20 games of an iteration are played side by side.
3.  An iteration's score is the mean of several greedy games, not of one.  A network that beats the
    best by it is scored several times again, and if the mean of these beats it, too, it is kept and
    plays; the article's author picked one by hand.
4.  The article's own ideas for later are settings: planes for tiles instead of faces, ε that falls,
    a longer memory, other samples, batches and epochs.
5.  All layers but the last compute in half precision (bfloat16) where the hardware is fast at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from baselines.agent import Observations
from baselines.checks import check, check_least, check_positive, check_shares
from baselines.deep.networks import moves_of
from baselines.deep.precision import check_precision, half_precision, set_up_torch, uses_bfloat16
from baselines.deep.seeding import seeded
from baselines.episodes import Episodes, collect
from baselines.evaluate import mean_score
from baselines.learner import TEST_SEED, BatchLearner, State, epsilon_greedy, training_envs
from tile_envs.sliding.env import SlidingEnv

N_ACTIONS = 4
PAIRS_AT_ONCE = 4096
"""So many boards with an action go through the network together when it plays."""
COUNTERS = ("stored", "score", "best_score")


@dataclass(frozen=True)
class ArticleSettings:
    """The article's recipe.

    Attributes:
        iteration_games: Games an iteration; every tenth is played without exploring.
        epsilon: The share of actions that are drawn at random ...
        first_epsilon: ... and in the first ...
        first_iterations: ... iterations.
        epsilon_halving: After so many iterations ε is halved, again and again; 0 is never.
        memory: How many transitions are kept.
        begin: With so many, learning begins.
        newest: Transitions of a sample that are the newest ones ...
        others: ... and how many are drawn from all before them.
        batch: Transitions a gradient step.
        epochs: How often a sample is gone through.
        learning_rate: That of RMSprop.
        one_hot: Whether the network sees a plane for each tile instead of faces.
        test_games: Greedy games whose mean is an iteration's score.
        confirming: So many more scores decide whether a network is the best: one is easily lucky.
        threads: Those of torch.
        precision: float32, bfloat16 or auto, which is bfloat16 if the hardware is fast at it.
    """

    iteration_games: int = 20
    epsilon: float = 0.1
    first_epsilon: float = 0.2
    first_iterations: int = 30
    epsilon_halving: int = 0
    memory: int = 50_000
    begin: int = 5_000
    newest: int = 1_000
    others: int = 2_000
    batch: int = 250
    epochs: int = 100
    learning_rate: float = 1e-3
    one_hot: bool = False
    test_games: int = 50
    confirming: int = 6
    threads: int = 2
    precision: str = "auto"

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own.
        """
        check_least(self, 1, "iteration_games", "newest", "others", "batch", "epochs")
        check_least(self, 1, "test_games", "confirming", "threads")
        check_least(self, 0, "first_iterations", "epsilon_halving")
        check_shares(self, "epsilon", "first_epsilon")
        check_positive(self, "learning_rate")
        check_precision(self.precision)
        sample = self.newest + self.others
        check("begin", self.begin, self.begin >= sample, f"at least a sample's {sample}")
        check("memory", self.memory, self.memory >= self.begin, f"at least begin, {self.begin}")


class ArticleNetwork(nn.Module):
    """Q(s, a) of boards with an action each.

    Args:
        env: The game.
        one_hot: Whether it sees a plane for each tile instead of faces.
        bfloat16: Whether all layers but the last compute in this half precision.
    """

    faces: Tensor

    def __init__(self, env: SlidingEnv, one_hot: bool, bfloat16: bool) -> None:
        super().__init__()
        faces = torch.tensor(env.rules.faces, dtype=torch.float32)
        self.register_buffer("faces", faces, persistent=False)
        self._moves = [moves_of(env.rules.name, env.shape)]  # in a list, it is not registered
        self._one_hot, self._bfloat16 = one_hot, bfloat16
        cells = env.shape[0] * env.shape[1]
        self.convolution = nn.Conv2d(self._moves[0].planes if one_hot else 1, 8, 3, padding=1)
        self.dense = nn.Sequential(
            *(nn.Linear(8 * cells + N_ACTIONS, 2048), nn.ReLU()),
            *(nn.Linear(2048, 1024), nn.ReLU()),
        )
        self.last = nn.Linear(1024, 1)
        self.apply(_begin_as_in_keras)

    def forward(self, boards: Tensor, actions: Tensor) -> Tensor:
        """Return `(n,)` for boards `(n, R, C)` and actions `(n,)`."""
        if self._one_hot:
            planes = self._moves[0].planes_of(boards).movedim(-1, 1)
        else:
            planes = self.faces[boards.long()][:, None]
        chosen = nn.functional.one_hot(actions, N_ACTIONS).float()
        with half_precision(boards.device, self._bfloat16):
            seen = torch.relu(self.convolution(planes)).flatten(1)
            dense = self.dense(torch.cat((seen, chosen), 1))
        values: Tensor = self.last(dense.float())[:, 0]
        return values


def _begin_as_in_keras(layer: nn.Module) -> None:
    if isinstance(layer, nn.Conv2d | nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)  # type: ignore[arg-type]


class Article(BatchLearner):
    """Learns as the article did; plays with the best network of all iterations.

    Args:
        env: The game.
        sides: None: a sliding game has one player.
        settings: The recipe.
        seed: Starts the network, the games and all that is drawn.

    Raises:
        ValueError: If a setting is out of its range, or the game is none with tiles that slide.
    """

    test_games = 100

    def __init__(
        self,
        env: gym.Env[Any, Any],
        sides: tuple[str, ...],
        settings: ArticleSettings,
        seed: int,
    ) -> None:
        settings.check()
        game = env.unwrapped
        if not isinstance(game, SlidingEnv):
            raise ValueError("the article's network plays the sliding games, not tic-tac-toe.")
        super().__init__(env, sides, "", settings.iteration_games, seed)
        self._settings = settings
        (self._test_envs,) = training_envs(env, sides, "", settings.test_games)
        set_up_torch(settings.threads)
        with seeded(seed):
            choices = settings.one_hot, uses_bfloat16(settings.precision, "cpu")
            self._network = ArticleNetwork(game, *choices)
            self._best = ArticleNetwork(game, *choices)
        self._best.load_state_dict(self._network.state_dict())
        self._best_score, self._score = 0.0, 0.0
        self._optimizer = torch.optim.RMSprop(
            self._network.parameters(), lr=settings.learning_rate, alpha=0.9, eps=1e-7
        )
        size = settings.memory
        self._memory: State = {
            "boards": np.zeros((size, *game.shape), np.uint8),
            "actions": np.zeros(size, np.int64),
            "rewards": np.zeros(size, np.float32),
            "following": np.zeros((size, *game.shape), np.uint8),
            "over": np.zeros(size, np.bool_),
        }
        self._stored = 0  # how many transitions have been stored, those that were dropped included

    def learn(self) -> dict[str, float]:
        """Play an iteration's games, learn from a sample of the memory, and play greedily.

        Returns:
            The mean return of the games, the mean of the greedy ones, and the best of these so far.
        """
        figures = super().learn()
        return figures | {"score": self._score, "best_score": self._best_score}

    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return what the best network says each action is worth; minus infinity if illegal.

        Raises:
            ValueError: If these are not boards of the game and shape.
        """
        return self._values(self._best, observations)

    def test(self, games: int) -> dict[str, float]:
        """Play so many games with the best network."""
        return {"greedy_mean": mean_score(self, self._game, games, TEST_SEED)}

    def _explore(
        self, observations: Observations, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        settings, iteration = self._settings, self.rounds
        is_first = iteration < settings.first_iterations
        epsilon = np.full(len(masks), settings.first_epsilon if is_first else settings.epsilon)
        if settings.epsilon_halving:
            epsilon *= 0.5 ** (iteration // settings.epsilon_halving)
        epsilon[::10] = 0.0
        return epsilon_greedy(self._values(self._network, observations), masks, epsilon, rng)

    def _update(self, episodes: Episodes) -> None:
        rng = np.random.default_rng([self._seed, self.rounds, 1])
        self._store(episodes)
        has_begun = self._stored >= self._settings.begin
        if has_begun:
            self._learn_from(self._sample(rng), rng)
        self._score = self._greedy_mean(rng)
        # What random weights prefer may play well by chance; that is no result of learning.
        if has_begun and self._score > self._best_score:
            scores = [self._greedy_mean(rng) for _ in range(self._settings.confirming)]
            confirmed = sum(scores) / len(scores)
            if confirmed > self._best_score:
                self._best_score = confirmed
                self._best.load_state_dict(self._network.state_dict())

    def _greedy_mean(self, rng: np.random.Generator) -> float:
        """Return the mean return of games that the network plays greedily."""
        seeds = rng.integers(1 << 64, size=self._settings.test_games, dtype=np.uint64)
        played = collect(
            self._test_envs, seeds, lambda boards, _: self._values(self._network, boards).argmax(1)
        )
        return float(played.returns.mean())

    def _store(self, episodes: Episodes) -> None:
        """Put transitions into the memory, game by game, in place of the oldest."""
        playing = episodes.playing.T
        boards = episodes.observations.swapaxes(0, 1)
        over = playing & ~np.roll(playing, -1, axis=1)
        over[:, -1] = playing[:, -1]
        new = {
            "boards": boards[playing],
            "actions": episodes.actions.T[playing],
            "rewards": episodes.rewards.T[playing],
            "following": np.roll(boards, -1, axis=1)[playing],
            "over": over[playing],
        }
        places = (self._stored + np.arange(len(new["over"]))) % self._settings.memory
        for name, column in new.items():
            self._memory[name][places] = column
        self._stored += len(places)

    def _sample(self, rng: np.random.Generator) -> State:
        """Return a sample of the memory: newest transitions, and others from before them."""
        settings = self._settings
        size = min(self._stored, settings.memory)
        newest = self._stored - 1 - np.arange(settings.newest)
        ages = settings.newest + rng.choice(size - settings.newest, settings.others, replace=False)
        places = np.concatenate((newest, self._stored - 1 - ages)) % settings.memory
        return {name: column[places] for name, column in self._memory.items()}

    def _learn_from(self, sample: State, rng: np.random.Generator) -> None:
        """Take the epochs' gradient steps towards targets that are computed once."""
        best = self._values(self._network, sample["following"]).max(axis=1)
        targets = sample["rewards"] + np.where(sample["over"], 0.0, best)
        boards = torch.as_tensor(sample["boards"])
        actions = torch.as_tensor(sample["actions"])
        wanted = torch.as_tensor(targets.astype(np.float32))
        for _ in range(self._settings.epochs):
            order = torch.as_tensor(rng.permutation(len(targets)))
            for chosen in torch.split(order, self._settings.batch):
                found = self._network(boards[chosen], actions[chosen])
                loss = nn.functional.mse_loss(found, wanted[chosen])
                self._optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self._optimizer.step()

    def _values(self, network: ArticleNetwork, observations: Observations) -> NDArray[np.float64]:
        masks = self._game.legal_actions(observations) > 0
        boards, actions = np.nonzero(masks)
        values = np.full(masks.shape, -np.inf)
        with torch.no_grad():
            for pairs in np.array_split(np.arange(len(boards)), len(boards) // PAIRS_AT_ONCE + 1):
                seen = torch.as_tensor(np.asarray(observations)[boards[pairs]])
                found = network(seen, torch.as_tensor(actions[pairs]))
                values[boards[pairs], actions[pairs]] = found.numpy()
        return values

    def state(self) -> State:
        """Return both networks, the optimizer, the memory, and where learning stands."""
        state: State = {name: np.array(getattr(self, f"_{name}")) for name in COUNTERS}
        state |= {"rounds": np.array(self.rounds)}
        state |= {f"memory {name}": column for name, column in self._memory.items()}
        for label, network in (("network", self._network), ("best", self._best)):
            for name, tensor in network.state_dict().items():
                state[f"{label} {name}"] = tensor.numpy()
        for index, moment in enumerate(self._moments()):
            state[f"rmsprop {index}"] = moment.numpy()
        return state

    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.rounds = int(state["rounds"])
        for name in COUNTERS:
            setattr(self, f"_{name}", state[name].item())
        for name, column in self._memory.items():
            column[...] = state[f"memory {name}"]
        for label, network in (("network", self._network), ("best", self._best)):
            names = network.state_dict()
            network.load_state_dict(
                {name: torch.tensor(state[f"{label} {name}"]) for name in names}
            )
        for index, moment in enumerate(self._moments()):
            moment.copy_(torch.as_tensor(state[f"rmsprop {index}"]))

    def _moments(self) -> Iterator[Tensor]:
        """Yield RMSprop's mean square of each parameter; before its first step, zeros."""
        for parameter in self._network.parameters():
            moments = self._optimizer.state[parameter]
            if not moments:
                moments["step"] = torch.tensor(0.0)
                moments["square_avg"] = torch.zeros_like(parameter)
            yield moments["square_avg"]
