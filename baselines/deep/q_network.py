"""The Q-network of `MaskedDQN`, and the policy of Stable-Baselines3 that holds it.

boards ── rules ──> afterstates ── network ──> values of afterstates ──> Q-values
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from stable_baselines3.common.torch_layers import FlattenExtractor, create_mlp
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from baselines.agents import game_from_json
from baselines.deep.convolutions import BoardConvolutions
from baselines.settings import check_memory
from tile_envs.errors import UsageError
from tile_envs.game import Game, Ints
from tile_envs.tictactoe import TicTacToe

ILLEGAL = -1e9  # the value of an illegal action, far below any other
OPTIONS: dict[str, Any] = {"network": "patterns", "width": 32, "hidden": (64,), "reward_scale": 1.0}
"""Those of `policy_kwargs` that are of `BoardQNetwork`, and their defaults; see `DQNSettings`."""
LENGTH = 4  # cells of a line; where a board has fewer in a row or column, all of them
MOST_CONTENTS = 2_500_000
"""Contents of all lines and squares.  For no more than these, the largest tiles share a value: in
2584 those from 121393 on, on 4×4."""


class BoardQNetwork(QNetwork):
    """Action values of boards, those of illegal actions far below all others.

    Q(s, a) = r(s, a) + γ V(s'), s' being the afterstate of s and a: the network learns only what
    the rules do not say.  V is 0 where the game ends.  The network is a `PatternNetwork`, or
    `BoardConvolutions` and hidden layers; the game is JSON text (see `game_of`).
    """

    def __init__(
        self, observation_space: Any, action_space: Any, game: str, gamma: float, **options: Any
    ) -> None:
        played, o = game_from_json(game), OPTIONS | options
        if observation_space.shape != played.shape:
            raise UsageError(f"expected boards {played.shape}, got {observation_space}: a wrapper?")
        flat = FlattenExtractor(observation_space)
        super().__init__(observation_space, action_space, flat, flat.features_dim, net_arch=[])
        self.game, self.gamma, self.reward_scale = played, gamma, float(o["reward_scale"])
        if o["network"] == "patterns":
            values: Any = PatternNetwork(played, o["width"], o["hidden"])
        else:
            seen = BoardConvolutions(observation_space, o["width"])
            values = nn.Sequential(seen, *create_mlp(seen.features_dim, 1, list(o["hidden"])))
        # From random weights, the first steps overshoot, and all units before them die.
        nn.init.zeros_([*values.modules()][-1].weight)
        self.q_net = values

    def forward(self, obs: Any) -> Tensor:
        """Return the values of all actions, `(n, actions)`, in scaled rewards."""
        return self.action_values(*self.afterstates_of(obs))

    def action_values(self, after: Tensor, rewards: Tensor, legal: Tensor) -> Tensor:
        """Return the values of all actions, given what `afterstates_of` returns."""
        values = torch.full_like(rewards, ILLEGAL)
        values[legal] = self.values_of(after[legal], rewards[legal])
        return values

    def afterstates_of(self, observations: Tensor) -> tuple[Tensor, ...]:
        """Return afterstates `(n, actions, R, C)`, rewards `float32` and masks `bool` of boards."""
        after, rewards, masks = self.game.afterstates(observations.cpu().numpy())
        arrays = after, rewards.astype(np.float32), masks > 0
        return tuple(torch.as_tensor(array, device=observations.device) for array in arrays)

    def values_of(self, after: Tensor, rewards: Tensor, following: Tensor | None = None) -> Tensor:
        """Return r + γ V(s') `(n,)` of afterstates `(n, R, C)`; V(s') `(n,)` may be known."""
        following = self.q_net(after)[:, 0] if following is None else following
        if isinstance(self.game, TicTacToe):  # no move ends a sliding game: a new tile follows
            has_ended = (rewards > 0) | (after != 0).flatten(1).all(dim=1)
            following = following.masked_fill(has_ended, 0.0)
        return self.reward_scale * rewards + self.gamma * following


class BoardPolicy(DQNPolicy):
    """The policy of `MaskedDQN`; `policy_kwargs` are those of `BoardQNetwork` and `DQNPolicy`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._network = {n: kwargs.pop(n) for n in {"game", "gamma", *OPTIONS} & kwargs.keys()}
        super().__init__(*args, **{"optimizer_class": torch.optim.Adagrad} | kwargs)

    def make_q_net(self) -> BoardQNetwork:
        seen: Any = self.observation_space
        return BoardQNetwork(seen, self.action_space, **self._network).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self._network


class PatternNetwork(nn.Module):
    """Values of boards, by a network whose first layer is looked up.

    The contents of four neighboring cells are one of few patterns, so each pattern has a vector of
    its own instead of a matrix.  Every line of four cells and every square of 2×2 is looked up:

        V(board) = MLP(ReLU(b + Σ over lines and squares p: E[contents of p]))

    Lines and squares that a symmetry of the board maps to each other share their vectors, and so do
    the contents of one: a board and its images have the same value.  With vectors of length 1 and
    without the MLP, this is the n-tuple network of 17 four-tuples (Szubert and Jaśkowski, "Temporal
    difference learning of n-tuple networks for the game 2048", 2014).
    """

    places: Tensor
    begins: Tensor
    entries: Tensor

    def __init__(self, game: Game, width: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.smallest = -1 if isinstance(game, TicTacToe) else 0
        orbits = _orbits(game)
        self.values = min(game.n_values, int((MOST_CONTENTS / len(orbits)) ** (1 / LENGTH)))
        tables, begin, size = [], 0, 0
        for images in orbits:
            cells = np.sort(images, axis=1)
            firsts = np.unique(cells, axis=0, return_index=True)[1]
            before = (0, 0), (LENGTH - images.shape[1], 0)  # the cell after the last one is empty
            places = np.pad(images[firsts], before, constant_values=math.prod(game.shape))
            # Contents that symmetries of the first image map to each other share an entry.
            contents = (self.values,) * images.shape[1]
            numbers = np.arange(math.prod(contents)).reshape(contents)
            orders = images[(cells == cells[0]).all(axis=1)].argsort(axis=1)
            least = np.minimum.reduce([numbers.transpose(order) for order in orders])
            entries = size + np.unique(least, return_inverse=True)[1].ravel()
            tables.append((places, np.full(len(firsts), begin), entries))
            begin, size = begin + len(entries), int(entries.max()) + 1
        # Not saved: the game says them.
        columns = zip(*tables, strict=True)
        for name, parts in zip(("places", "begins", "entries"), columns, strict=True):
            array = np.concatenate(parts).T.astype(np.int32, "C")
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        each = 3 * 4 * size  # bytes, with a target network, and the optimizer's sums
        check_memory(each * width, f"a width of {width:,}", "give a width of at most {}", each)
        self.vectors = nn.EmbeddingBag(size, width, mode="sum", sparse=True)
        self.bias = nn.Parameter(torch.zeros(width))
        self.layers = nn.Sequential(nn.ReLU(), *create_mlp(width, 1, list(hidden)))
        nn.init.normal_(self.vectors.weight, std=0.1 / len(self.begins) ** 0.5)

    def forward(self, boards: Tensor) -> Any:
        """Return the values `(n, 1)` of boards `(n, R, C)`."""
        return self.layers(self.vectors(self.patterns_of(boards)) + self.bias)

    def patterns_of(self, boards: Tensor) -> Tensor:
        """Return the numbers of the vectors `(n, patterns) int32` of boards `(n, R, C)`."""
        # Each row is a cell of all boards: torch is fastest at copying whole rows.
        cells = (boards.flatten(1).T.int() - self.smallest).clamp(max=self.values - 1)
        cells = nn.functional.pad(cells, (0, 0, 0, 1))
        codes = cells.index_select(0, self.places[0])
        for places in self.places[1:]:
            codes = codes.mul_(self.values).add_(cells.index_select(0, places))
        codes = codes.add_(self.begins[:, None])
        return self.entries.index_select(0, codes.flatten()).view(codes.shape).T.contiguous()


def _orbits(game: Game) -> list[Ints]:
    """Return arrays `(m, cells)`: a line or a square and all its images under the symmetries."""
    (rows, columns), orbits = game.shape, dict[tuple[int, ...], Ints]()
    cells = np.arange(rows * columns).reshape(rows, columns)
    for size in ((1, min(LENGTH, columns)), (min(LENGTH, rows), 1), (2, 2)):
        if size != (1, 1) and np.less_equal(size, game.shape).all():
            for pattern in sliding_window_view(cells, size).reshape(-1, math.prod(size)):
                images = np.unique(game.symmetries.cells[:, pattern], axis=0)
                orbits.setdefault(tuple(min(np.sort(images, axis=1).tolist())), images)
    return [*orbits.values()]
