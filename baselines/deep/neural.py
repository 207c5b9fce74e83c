"""Q-learning with a small neural network, for tic-tac-toe.

A network takes the nine cells, X 1, O -1 and empty 0, and returns Q(s, a) of each cell a.  After
the games of an iteration it is fitted to the targets

    max_a' Q(s', a'), or the value of the result after the last action of a game,

which are computed once: the network is its own target network, renewed every iteration.  There are
two recipes:

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

from baselines.agents import Observations
from baselines.deep.torch_setup import Parts, pack_parts, seed_generators, torch_threads, without
from baselines.seeds import training_generator
from baselines.settings import Count, Fraction, Opponent, Positive, Threads, Units
from baselines.tabular.boards import BoardCodes
from baselines.training.episodes import Episodes, EpsilonGreedyLearner, RingBuffer
from baselines.training.learner import State
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


class Neural(EpsilonGreedyLearner):
    """Neural networks of action values, one for each side, and the agent that plays by them."""

    Settings = NeuralSettings
    plays = TicTacToe
    version = 2
    saved = ()
    _settings: NeuralSettings

    def _build(self) -> None:
        game, settings = self._game, self._settings
        self._codes = BoardCodes(game, merge_symmetric=settings.recipe == "fitted")
        with seed_generators(self._seed, "weights"):
            players = {side: _Player(settings, i) for i, side in enumerate(game.sides)}
        # A side's weights are the same whether the other side learns or not.
        self._players = {side: players[side] for side in self._sides}

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return the value of each action, `(n, 9)`; minus infinity for illegal ones."""
        codes, actions = self._codes.of(observations)
        values = np.full((len(codes), CELLS), -np.inf)
        to_move = self._to_move(observations)
        for side, player in self._players.items():
            own = to_move == side
            with torch_threads(self._settings.threads):
                values[own] = player.values(codes[own])
        values = values[np.arange(len(codes))[:, None], actions]
        return np.where(self._game.legal_actions(observations) > 0, values, -np.inf)

    def update(self, episodes: Episodes) -> None:
        """Fit the network of the side that has played, all games being on one side."""
        playing = episodes.playing
        codes, actions = self._codes.of(episodes.observations[playing])
        taken = actions[np.arange(len(codes)), episodes.actions[playing]]
        following = np.full(playing.shape, -1, np.int16)
        following[episodes.continues] = codes[playing[0].sum() :]  # all but the first boards
        side = self._to_move(episodes.observations[0, :1])[0]
        player, number = self._players[side], self._game.sides.index(side)
        experience: State = {
            "entries": (codes * CELLS + taken).astype(np.int32),
            "following": following[playing],
            "results": player.results[np.sign(episodes.rewards[playing]).astype(np.int64)],
        }
        rng = training_generator(self._seed, self.iterations, number, 1)
        with torch_threads(self._settings.threads, learning=True):
            player.learn(experience, rng)

    def _to_move(self, observations: Observations) -> NDArray[np.str_]:
        return np.where(observations.sum(axis=(1, 2)) == 0, *self._game.sides)

    def export_state(self) -> State:
        """Return a state that is enough for playing, with zeros in what learning alone needs."""
        return without(self.state_dict(), "buffer")

    def _arrays(self) -> State:
        return pack_parts(
            {
                f"{side} {label}": part
                for side, player in self._players.items()
                for label, part in player.parts().items()
            }
        )


class _Player:
    """The network of one side.

    Attributes:
        results: The values of a draw, a win and a loss.
    """

    def __init__(self, settings: NeuralSettings, number: int) -> None:
        self._settings, self._is_fitted = settings, settings.recipe == "fitted"
        self._sign = 1 - 2 * number  # of the own marks, which boards have as 1
        self.results = np.array([0, 1, -10] if self._is_fitted else [1, 1, 0], np.float32)
        hidden = [settings.hidden, settings.hidden]
        last = torch.nn.Identity() if self._is_fitted else torch.nn.Sigmoid()
        self._network = torch.nn.Sequential(*create_mlp(CELLS, CELLS, hidden), last)
        self._buffer = RingBuffer(
            settings.buffer_size if self._is_fitted else 0,
            entries=(np.int32, ()),
            following=(np.int16, ()),
            results=(np.float32, ()),
        )

    def values(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """Return the value of each action, `(n, 9)`; the fitted recipe masks illegal ones."""
        with torch.no_grad():
            values: NDArray[np.float32] = self._network(self._inputs(codes)).numpy()
        return np.where(solve().masks[codes] > 0, values, -np.inf) if self._is_fitted else values

    def learn(self, experience: State, rng: np.random.Generator) -> None:
        """Learn from the n actions of an iteration and from what followed them.

        The experience has `entries`, the code of the board times 9 plus the action, both as the
        network sees them; `following`, the code of the next board, or -1 after the last action of a
        game; and `results`, the value of the game's result, as of a last action.
        """
        if not self._is_fitted:
            codes, taken = np.divmod(experience["entries"], CELLS)
            illegal = solve().masks[codes] == 0
            targets = np.where(illegal, self.results[-1], self._targets(experience)[:, None])
            self._fit(codes, targets, illegal | np.eye(CELLS, dtype=np.bool_)[taken], rng)
            return
        self._buffer.store(**experience)
        n, size = len(self._buffer), 3**CELLS * CELLS
        stored = {name: array[:n] for name, array in self._buffer.arrays.items()}
        times = np.bincount(stored["entries"], minlength=size).reshape(-1, CELLS)
        sums = np.bincount(stored["entries"], self._targets(stored), size).reshape(-1, CELLS)
        codes = np.flatnonzero(times.any(axis=1))
        means = sums[codes] / np.maximum(times[codes], 1)
        self._fit(codes, means.astype(np.float32), times[codes] > 0, rng)

    def _targets(self, experience: State) -> NDArray[np.float32]:
        """Return max_a' Q(s', a') `(n,)`, or the value of the result."""
        continues = experience["following"] >= 0
        following, which = np.unique(experience["following"][continues], return_inverse=True)
        targets: NDArray[np.float32] = experience["results"].copy()
        targets[continues] = self.values(following).max(axis=1)[which]
        return targets

    def _fit(
        self,
        codes: NDArray[np.int64],
        targets: NDArray[np.float32],
        weights: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> None:
        """Reduce the weighted squared errors `(n, 9)` of boards `(n,)`, in minibatches."""
        settings = self._settings
        kind = torch.optim.Adam if self._is_fitted else torch.optim.SGD
        optimizer = kind(self._network.parameters(), settings.learning_rate)
        inputs = self._inputs(codes)
        wanted, counted = torch.from_numpy(targets), torch.from_numpy(weights.astype(np.float32))
        for _ in range(settings.n_epochs):
            order = torch.from_numpy(rng.permutation(len(codes)))
            for rows in torch.split(order, settings.batch_size):
                errors = counted[rows] * (self._network(inputs[rows]) - wanted[rows])
                optimizer.zero_grad()
                errors.square().mean().backward()
                optimizer.step()

    def _inputs(self, codes: NDArray[Any]) -> torch.Tensor:
        marks = solve().marks[codes].reshape(-1, CELLS)
        return torch.from_numpy((marks * self._sign).astype(np.float32))

    def parts(self) -> Parts:
        """Return the network, and the replay buffer of the fitted recipe."""
        buffer = {"buffer": self._buffer.state} if self._is_fitted else {}
        return {"network": self._network.state_dict(), **buffer}
