"""Q-learning with a small neural network, for tic-tac-toe.

A network takes the nine cells, X 1, O -1 and empty 0, and returns what each move is worth.  A
round's targets are what it thinks of the next boards before it learns from the round: the network
is its own target network, brought up to date once a round.

Learning goes one of two ways.  The published one takes the positions of the round's games as they
are, in minibatches, and teaches illegal moves as losses.  Ours keeps transitions in a memory and
fits the network to the mean target of every move that was ever tried, as fitted Q-iteration does
(Riedmiller, "Neural fitted Q iteration", 2005); illegal moves are masked, and boards that are
images of each other are one.

As with tables, a loss costs more than a win brings, lest O accept some against a random opponent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from baselines.agent import Observations
from baselines.checks import check, check_least, check_positive, check_shares
from baselines.episodes import Episodes
from baselines.learner import SELF, SIDES, BatchLearner, State, epsilon_greedy, falling
from baselines.tabular.boards import BoardCodes
from tile_envs.tictactoe.env import TicTacToeEnv
from tile_envs.tictactoe.positions import CELLS, solve

OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


@dataclass(frozen=True)
class NeuralSettings:
    """How a network learns.

    Attributes:
        opponent: random, minimax or minimax_first.
        batch: Games played side by side and then learned from.
        hidden: Units in each of the two hidden layers.
        optimizer: adam or sgd.
        learning_rate: The optimizer's, above 0.
        minibatch: Positions in one step of the optimizer, which goes along their mean.
        passes: How often a round goes over what it learns from.
        memory: Transitions that are kept; 0 learns from the round's positions as they came.
        epsilon: The share of actions that are drawn at random.
        epsilon_step: So much it falls ...
        epsilon_games: ... every so many games.
        win: What a win is worth.
        draw: What a draw is worth.
        loss: What a loss is worth.
        sigmoid: Whether the network's values are squeezed between 0 and 1.
        teach_illegal: Whether illegal moves are taught as losses instead of masked.
        merge_symmetric: Whether the network sees one board for all its images.
    """

    opponent: str = "random"
    batch: int = 5000
    hidden: int = 128
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    minibatch: int = 1000
    passes: int = 200
    memory: int = 1 << 20
    epsilon: float = 1.0
    epsilon_step: float = 0.0
    epsilon_games: int = 1000
    win: float = 1.0
    draw: float = 0.0
    loss: float = -10.0
    sigmoid: bool = False
    teach_illegal: bool = False
    merge_symmetric: bool = True

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its own.
        """
        check("opponent", self.opponent, self.opponent != SELF, "another player for a network")
        check_least(self, 1, "hidden", "minibatch", "passes", "epsilon_games")
        check_least(self, 0, "memory")
        check("optimizer", self.optimizer, self.optimizer in OPTIMIZERS, " or ".join(OPTIMIZERS))
        check_positive(self, "learning_rate")
        check_shares(self, "epsilon", "epsilon_step")
        for name in ("win", "draw", "loss") if self.sigmoid else ():
            expected = "from 0 to 1 with a sigmoid"
            check(name, getattr(self, name), 0 <= getattr(self, name) <= 1, expected)


class Transitions(NamedTuple):
    """Moves and what came of them.

    Attributes:
        moves: `(n,) int32`, a board's code times 9 plus the action, both as the network sees them.
        following: `(n,) int16`, the code of the next board, or -1 after the last move.
        worth: `(n,) float32`, what the result is worth after the last move.
    """

    moves: NDArray[Any]
    following: NDArray[Any]
    worth: NDArray[Any]


class Neural(BatchLearner):
    """A neural network of the value of moves, and the agent that plays the best move it knows.

    Args:
        env: Tic-tac-toe.
        sides: What is learned, of "X" and "O"; each has a network of its own.
        settings: How it learns.
        seed: Starts weights, games, exploration and the order of minibatches.

    Raises:
        ValueError: If a setting is out of its range, or the game is another.
    """

    def __init__(
        self, env: gym.Env[Any, Any], sides: tuple[str, ...], settings: NeuralSettings, seed: int
    ) -> None:
        settings.check()
        if not isinstance(env.unwrapped, TicTacToeEnv):
            raise ValueError("this network plays TicTacToe-v0 only: use qtable for other games.")
        super().__init__(env, sides, settings.opponent, settings.batch, seed)
        self._settings = settings
        self._codes = BoardCodes(env, settings.merge_symmetric, bytes_per_entry=0)
        self._players = {side: _Player(settings, seed, SIDES.index(side)) for side in sides}

    def values(self, observations: Observations) -> NDArray[np.float64]:
        """Return what each action is worth, `(n, 9)`; minus infinity for illegal ones."""
        codes, images = self._codes.of(observations)
        worth = np.full((len(codes), CELLS), -np.inf)
        to_move = _side_to_move(observations)
        for side, player in self._players.items():
            mine = to_move == side
            worth[mine] = player.worth(codes[mine])
        worth = worth[np.arange(len(codes))[:, None], images]
        return np.where(self._game.legal_actions(observations) > 0, worth, -np.inf)

    def _explore(
        self, observations: Observations, masks: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        settings = self._settings
        epsilon = falling(
            settings.epsilon, settings.epsilon_step, settings.epsilon_games, self.games
        )
        return epsilon_greedy(self.values(observations), masks, epsilon, rng)

    def _update(self, episodes: Episodes) -> None:
        playing = episodes.playing
        codes, images = self._codes.of(episodes.observations[playing])
        taken = images[np.arange(len(codes)), episodes.actions[playing]]
        goes_on = np.zeros_like(playing)
        goes_on[:-1] = playing[1:]
        following = np.full(playing.shape, -1, np.int16)
        following[goes_on] = self._codes.of(episodes.observations[1:][playing[1:]])[0]
        settings = self._settings
        worth = np.array([settings.draw, settings.win, settings.loss], np.float32)
        transitions = Transitions(
            (codes * CELLS + taken).astype(np.int32),
            following[playing],
            worth[np.sign(episodes.rewards[playing]).astype(np.int64)],
        )
        side = _side_to_move(episodes.observations[0, :1])[0]
        rng = np.random.default_rng([self._seed, self.rounds, SIDES.index(side), 1])
        self._players[side].learn(transitions, rng)

    def state(self) -> State:
        """Return the networks and memories, and the number of rounds."""
        state: State = {"rounds": np.array(self.rounds)}
        for side, player in self._players.items():
            state |= {f"{side} {name}": array for name, array in player.state().items()}
        return state

    def _take_over(self, state: Mapping[str, NDArray[Any]]) -> None:
        for side, player in self._players.items():
            player.restore({name: state[f"{side} {name}"] for name in player.state()})
        self.rounds = int(state["rounds"])


def _side_to_move(observations: Observations) -> NDArray[np.str_]:
    return np.where(observations.sum(axis=(1, 2)) == 0, *SIDES)


class _Player:
    """The network and the memory of one side."""

    def __init__(self, settings: NeuralSettings, seed: int, number: int) -> None:
        self._settings = settings
        self._sign = 1 - 2 * number  # boards are seen with the own marks as 1
        rng = np.random.default_rng([seed, number])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(1 << 63)))
            self._network = torch.nn.Sequential(
                torch.nn.Linear(CELLS, settings.hidden),
                torch.nn.ReLU(),
                torch.nn.Linear(settings.hidden, settings.hidden),
                torch.nn.ReLU(),
                torch.nn.Linear(settings.hidden, CELLS),
                torch.nn.Sigmoid() if settings.sigmoid else torch.nn.Identity(),
            )
        self._kept = Transitions(
            np.zeros(settings.memory, np.int32),
            np.zeros(settings.memory, np.int16),
            np.zeros(settings.memory, np.float32),
        )
        self._seen = 0

    def worth(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """Return what each action is worth, `(n, 9)`."""
        with torch.no_grad():
            worth: NDArray[np.float32] = self._network(self._inputs(codes)).numpy()
        return worth

    def learn(self, transitions: Transitions, rng: np.random.Generator) -> None:
        if self._settings.memory:
            codes, targets, weights = _means(*self._with_targets(self._remember(transitions)))
        else:
            moves, targets = self._with_targets(transitions)
            codes, taken = np.divmod(moves, CELLS)
            weights = np.eye(CELLS, dtype=np.bool_)[taken]
            targets = np.repeat(targets[:, None], CELLS, axis=1)
        if self._settings.teach_illegal:
            illegal = solve().masks[codes] == 0
            targets[illegal], weights[illegal] = self._settings.loss, True
        self._fit(codes, targets, weights, rng)

    def _inputs(self, codes: NDArray[Any]) -> torch.Tensor:
        marks = solve().marks[codes].reshape(-1, CELLS)
        return torch.from_numpy((marks * self._sign).astype(np.float32))

    def _remember(self, transitions: Transitions) -> Transitions:
        """Keep transitions in the place of the oldest, and return all that are kept."""
        places = np.arange(self._seen, self._seen + len(transitions.moves)) % self._settings.memory
        self._seen += len(places)
        moves, following, worth = self._kept
        moves[places], following[places], worth[places] = transitions
        return Transitions(*(kept[: self._seen] for kept in self._kept))

    def _with_targets(self, transitions: Transitions) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the moves `(n,)` with what they are to be worth, `(n,)`."""
        goes_on = transitions.following >= 0
        following, which = np.unique(transitions.following[goes_on], return_inverse=True)
        worth = self.worth(following)
        if not self._settings.teach_illegal:
            worth = np.where(solve().masks[following] > 0, worth, -np.inf)
        targets = transitions.worth.copy()
        targets[goes_on] = worth.max(axis=1)[which]
        return transitions.moves, targets

    def _fit(
        self,
        codes: NDArray[np.int64],
        targets: NDArray[np.float32],
        weights: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> None:
        settings = self._settings
        optimizer = OPTIMIZERS[settings.optimizer](
            self._network.parameters(), settings.learning_rate
        )
        inputs = self._inputs(codes)
        wanted, counted = torch.from_numpy(targets), torch.from_numpy(weights.astype(np.float32))
        for _ in range(settings.passes):
            order = torch.from_numpy(rng.permutation(len(codes)))
            for begin in range(0, len(codes), settings.minibatch):
                rows = order[begin : begin + settings.minibatch]
                errors = counted[rows] * (self._network(inputs[rows]) - wanted[rows])
                optimizer.zero_grad()
                errors.square().mean().backward()
                optimizer.step()

    def state(self) -> State:
        weights = self._network.state_dict()
        state: State = {name: tensor.numpy().copy() for name, tensor in weights.items()}
        state |= {name: kept.copy() for name, kept in self._kept._asdict().items()}
        return state | {"seen": np.array(self._seen)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        names = self._network.state_dict().keys()
        self._network.load_state_dict({name: torch.from_numpy(state[name]) for name in names})
        for name, kept in self._kept._asdict().items():
            kept[:] = state[name]
        self._seen = int(state["seen"])


def _means(
    moves: NDArray[Any], targets: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_]]:
    """Return the boards that occur `(n,)`, the mean target of each action, and whether any."""
    size = 3**CELLS * CELLS
    times = np.bincount(moves, minlength=size).reshape(-1, CELLS)
    sums = np.bincount(moves, targets, size).reshape(-1, CELLS)
    codes = np.flatnonzero(times.any(axis=1))
    means = sums[codes] / np.maximum(times[codes], 1)
    return codes, means.astype(np.float32), times[codes] > 0
