"""Q-learning with a small neural network, for tic-tac-toe.

A network takes the nine cells, its own marks 1, others -1, and returns Q(s, a) of each cell a.
After the games of an iteration it is fitted to the targets max_a' Q(s', a'), or the value of the
result after the last action of a game, which are computed once.  There are two recipes:

- `published`: the positions of an iteration as they are, by SGD.  The network is taught that
  illegal actions lose.  One difference: the published network learned from one position at a time,
  with a learning rate of 0.1; here 1,000 games are played side by side.
- `fitted`: the mean target of every action in a replay buffer, by Adam, as in fitted Q-iteration
  (Riedmiller, "Neural fitted Q iteration", 2005).  Illegal actions are masked, and symmetric boards
  merged.  A loss costs more than a win brings, so that the best O never loses (see `qtable`).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.torch_layers import create_mlp

from baselines.deep.torch_setup import seed_generators, torch_threads, zeroed
from baselines.seeds import training_generator
from baselines.settings import Count, Fraction, Opponent, Positive, Threads, Units
from baselines.tabular.boards import BoardCodes
from baselines.training.episodes import Episodes, EpisodicLearner, Sides
from baselines.training.learner import State
from tile_envs.game import Bools, Floats, Game, Ints, Observations
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import CELLS, solve


@dataclass(frozen=True)
class NeuralSettings:
    """The settings of a network for tic-tac-toe.

    Attributes:
        opponent: The opponent.
        recipe: How the network learns; `neural` explains both ways.
        n_envs: Games played side by side and then learned from.
        hidden: Units in each of the two hidden layers.
        learning_rate: Learning rate of the optimizer.
        batch_size: Positions of a gradient step.
        n_epochs: Passes over the positions of an iteration.
        buffer_size: Transitions in the replay buffer of the fitted recipe.
        epsilon: Probability of a random action at the start.
        epsilon_decrease: Decrease of epsilon per step.
        epsilon_every: Games per step of epsilon.
        threads: Threads of torch.
    """

    opponent: Opponent = "random"
    recipe: Literal["published", "fitted"] = "published"
    n_envs: Count = 1000
    hidden: Units = 36
    learning_rate: Positive = 2.0
    batch_size: Count = 128
    n_epochs: Count = 1
    buffer_size: Count = 1 << 20
    epsilon: Fraction = 0.7
    epsilon_decrease: Fraction = 0.1
    epsilon_every: Count = 200_000
    threads: Threads = 1


class Neural(EpisodicLearner):
    """Neural networks of action values, one for each side, and the agent that plays by them."""

    Settings = NeuralSettings
    plays = TicTacToe
    version = 2
    test_games = 100

    def __init__(self, game: Game, seed: int = 0, settings: Any = None, sides: Sides = ()) -> None:
        super().__init__(game, seed, settings, sides)
        settings = self._settings
        kind = Fitted if settings.recipe == "fitted" else Published
        self._codes = BoardCodes(game, merge_symmetric=kind is Fitted)
        with seed_generators(seed, "weights"):
            players = {"X": kind(settings, 1), "O": kind(settings, -1)}
        # A side's weights are the same whether the other side learns or not.
        self._players = {side: players[side] for side in self._sides}

    def action_values(self, observations: Observations) -> Floats:
        codes, actions = self._codes.of(observations)
        values, to_move = np.full(actions.shape, -np.inf), self._to_move(observations)
        with torch_threads(self._settings.threads):
            for side, player in self._players.items():
                values[to_move == side] = player.values(codes[to_move == side])
        legal = self._game.legal_actions(observations) > 0
        return np.where(legal, np.take_along_axis(values, actions, axis=1), -np.inf)

    def update(self, episodes: Episodes) -> None:
        """Fit the network of the side that has played, all games being on one side."""
        playing = episodes.playing
        codes, actions = self._codes.of(episodes.observations[playing])
        taken = actions[np.arange(len(codes)), episodes.actions[playing]]
        following = np.full(playing.shape, -1, np.int16)
        following[episodes.continues] = codes[playing[0].sum() :]  # all but the first boards
        player = self._players[side := self._to_move(episodes.observations[0, :1])[0]]
        results = player.results[np.sign(episodes.rewards[playing]).astype(np.int64)]
        rng = training_generator(self._seed, self.iterations, self._game.sides.index(side), 1)
        with torch_threads(self._settings.threads, learning=True):
            player.learn(rng, codes * CELLS + taken, following[playing], results)

    def _to_move(self, observations: Observations) -> NDArray[np.str_]:
        return np.where(observations.sum(axis=(1, 2)) == 0, *self._game.sides)

    def export_state(self) -> State:
        return zeroed(self.state_dict(), "buffer")

    def _arrays(self) -> State:
        players = self._players.items()
        return {f"{side} {name}": a for side, p in players for name, a in p.arrays.items()}


class Published:
    """The network of one side, which sees its own marks, of this `sign`, as 1."""

    results = np.array([1, 1, 0], np.float32)  # the values of a draw, a win and a loss
    optimizer: Any = torch.optim.SGD
    last: Any = torch.nn.Sigmoid

    def __init__(self, settings: NeuralSettings, sign: int) -> None:
        self._settings = settings
        self._boards = (solve().marks.reshape(-1, CELLS) * sign).astype(np.float32)
        layers = create_mlp(CELLS, CELLS, [settings.hidden] * 2)
        self._network = torch.nn.Sequential(*layers, self.last())
        self.arrays = {f"network {n}": t.numpy() for n, t in self._network.state_dict().items()}

    @torch.no_grad()
    def values(self, codes: Ints) -> NDArray[np.float32]:
        return np.asarray(self._network(torch.from_numpy(self._boards[codes])))

    def learn(self, rng: np.random.Generator, *experience: NDArray[Any]) -> None:
        """Reduce the squared errors of the actions that count, in minibatches.

        Experience: of each action, the code of the board times 9 plus the action; the next board's
        code, or -1 after a game's last action; and the value of the game's result.
        """
        codes, targets, counts = self._lesson(*experience)
        optimizer = self.optimizer(self._network.parameters(), self._settings.learning_rate)
        arrays = self._boards[codes], targets, counts.astype(np.float32)
        lesson = list(map(torch.from_numpy, arrays))
        for _ in range(self._settings.n_epochs):
            order = torch.from_numpy(rng.permutation(len(codes)))
            for rows in torch.split(order, self._settings.batch_size):
                boards, wanted, counted = (tensor[rows] for tensor in lesson)
                errors = counted * (self._network(boards) - wanted)
                optimizer.zero_grad()
                errors.square().mean().backward()
                optimizer.step()

    def _lesson(self, entries: Ints, *outcomes: NDArray[Any]) -> tuple[Ints, Any, Bools]:
        """Return boards, targets of all actions, and whether each counts: illegal ones lose."""
        codes, taken = np.divmod(entries, CELLS)
        illegal = solve().masks[codes] == 0
        targets = np.where(illegal, self.results[-1], self._targets(*outcomes)[:, None])
        return codes, targets, illegal | np.eye(CELLS, dtype=np.bool_)[taken]

    def _targets(self, following: Ints, results: NDArray[Any]) -> NDArray[Any]:
        """Return max_a' Q(s', a') `(n,)`, or the value of the result."""
        continues, targets = following >= 0, results.copy()
        codes, which = np.unique(following[continues], return_inverse=True)
        targets[continues] = self.values(codes).max(axis=1)[which]
        return targets


class Fitted(Published):
    """The network of one side, fitted to the mean targets in a replay buffer."""

    results = np.array([0, 1, -10], np.float32)
    optimizer = torch.optim.Adam
    last = torch.nn.Identity

    def __init__(self, settings: NeuralSettings, sign: int) -> None:
        super().__init__(settings, sign)
        kinds = {"entries": np.int32, "following": np.int16, "results": np.float32}
        buffer: State = {n: np.zeros(settings.buffer_size, k) for n, k in kinds.items()}
        self._buffer = [*buffer.values()]
        self._stored = np.zeros((), np.int64)  # transitions ever; later ones replace the oldest
        self.arrays |= {f"buffer {n}": a for n, a in (buffer | {"stored": self._stored}).items()}

    def values(self, codes: Ints) -> NDArray[np.float32]:
        """Return the value of each action, `(n, 9)`; minus infinity for illegal ones."""
        return np.where(solve().masks[codes] > 0, super().values(codes), -np.inf)

    def _lesson(self, *experience: NDArray[Any]) -> tuple[Ints, Any, Bools]:
        """Return the boards in the buffer, the mean targets of their actions, and which it has."""
        places = (self._stored + np.arange(len(experience[0]))) % self._settings.buffer_size
        self._stored += len(places)
        for array, values in zip(self._buffer, experience, strict=True):
            array[places] = values
        entries, *outcomes = (array[: self._stored] for array in self._buffer)
        size = 3**CELLS * CELLS
        times = np.bincount(entries, minlength=size).reshape(-1, CELLS)
        sums = np.bincount(entries, self._targets(*outcomes), size).reshape(-1, CELLS)
        codes = np.flatnonzero(times.any(axis=1))
        means = sums[codes] / np.maximum(times[codes], 1)
        return codes, means.astype(np.float32), times[codes] > 0
