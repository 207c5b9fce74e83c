"""The Q-network of `MaskedDQN`, and the policy of Stable-Baselines3 that holds it.

boards ──> one-hot planes ── Branches ──> features ── linear layers ──> values
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor, create_mlp
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import game_from_json
from tile_envs.plug.features import Branches
from tile_envs.sliding import SlidingGame
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import O, X

ILLEGAL = -1e9
"""The value of an illegal action: finite, because targets multiply it by 0 after a game's end."""


class BoardNetwork(nn.Module):
    """Several values of a board: as many as there are `outputs`; see `BoardQNetwork`."""

    marks: Tensor

    def __init__(
        self, game: Game, outputs: int, width: int, hidden: Sequence[int], bfloat16: bool
    ) -> None:
        super().__init__()
        marks = range(game.rules.largest + 1) if isinstance(game, SlidingGame) else (X, O)
        self.register_buffer("marks", torch.tensor(marks), persistent=False)
        self._bfloat16 = bfloat16
        branches = Branches(len(marks), game.shape, width)
        self.layers = nn.Sequential(branches, *create_mlp(branches.features, -1, list(hidden)))
        self.last = nn.Linear([branches.features, *hidden][-1], outputs)
        # From random weights the first steps overshoot, and switch off all units before for good.
        nn.init.zeros_(self.last.weight)

    def forward(self, boards: Tensor) -> Tensor:
        """Return values `(n, outputs)` of boards `(n, R, C)`."""
        with torch.autocast(boards.device.type, torch.bfloat16, enabled=self._bfloat16):
            features = self.layers((boards[..., None] == self.marks).float())
        values: Tensor = self.last(features.float())
        return values


class BoardQNetwork(QNetwork):
    """Action values of boards, those of illegal actions far below all others.

    With `afterstates`, Q(s, a) = r(s, a) + γ V(s'), s' being the afterstate of s and a: the network
    learns only what the rules do not say, and shares it among all positions that lead to the same
    afterstate.  The value of an afterstate that ends the game is 0.

    Arguments that are not explained here are settings of `DQNSettings`.

    Args:
        observation_space: Boards.
        action_space: Actions.
        game: The game as JSON text (see `game_of`).
        bfloat16: Whether all layers but the last compute in bfloat16.

    Raises:
        ValueError: If the observation space is not that of the game's boards.
    """

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        game: str,
        gamma: float,
        afterstates: bool = True,
        symmetric: bool = True,
        width: int = 128,
        hidden: Sequence[int] = (64, 64),
        reward_scale: float = 1.0,
        bfloat16: bool = False,
    ) -> None:
        played = game_from_json(game)
        if not isinstance(observation_space, spaces.Box) or observation_space.shape != played.shape:
            raise UsageError(
                "the network takes boards as the environments of tile_envs give them, of shape "
                f"{played.shape}, got {observation_space}: leave out wrappers that change "
                "observations."
            )
        flat = FlattenExtractor(observation_space)
        super().__init__(observation_space, action_space, flat, flat.features_dim, net_arch=[])
        self.game = played
        outputs = 1 if afterstates else int(action_space.n)
        network: Any = BoardNetwork(played, outputs, width, hidden, bfloat16)
        self.q_net = network
        self.afterstates, self.symmetric = afterstates, symmetric
        self.reward_scale, self.gamma = reward_scale, gamma

    def forward(self, obs: Any) -> Tensor:
        """Return the values of all actions, `(n, actions)`, in scaled rewards."""
        after, rewards, legal = self.afterstates_of(obs)
        if not self.afterstates:
            return torch.where(legal, self.q_net(obs), ILLEGAL)
        places = legal.flatten().nonzero()[:, 0]
        # Torch takes long to prepare layers for a new batch size, so there are few different ones.
        places = nn.functional.pad(places, (0, -len(places) % 64))
        values = torch.zeros_like(rewards)
        values.view(-1)[places] = self._values(
            after.flatten(0, 1)[places], rewards.flatten()[places]
        )
        return values.where(legal, ILLEGAL)

    def values_of(self, observations: Tensor, actions: Tensor) -> Tensor:
        """Return the value `(n, 1)` of one legal action `(n, 1)` on each board."""
        if not self.afterstates:
            every: Tensor = self.q_net(observations)
            return every.gather(1, actions)
        after, rewards, _ = self.afterstates_of(observations)
        games = torch.arange(len(actions), device=actions.device)
        chosen = actions[:, 0]
        return self._values(after[games, chosen], rewards[games, chosen])[:, None]

    def afterstates_of(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the afterstates `(n, actions, R, C)` of boards `(n, R, C)`.

        With them come the rewards, `(n, actions) float32`, and the action masks, `bool`.
        """
        after, rewards, masks = self.game.afterstates(observations.cpu().numpy())
        device = observations.device
        return (
            torch.as_tensor(after, device=device),
            torch.as_tensor(rewards, dtype=torch.float32, device=device),
            torch.as_tensor(masks > 0, device=device),
        )

    def _values(self, after: Tensor, rewards: Tensor) -> Tensor:
        """Return r + γ V(s') `(n,)` of afterstates `(n, R, C)` and rewards `(n,)`."""
        if self.training and self.symmetric:
            after = symmetric_images(after)
        following: Tensor = self.q_net(after)[:, 0]
        if isinstance(self.game, TicTacToe):  # no move ends a sliding game: a new tile follows
            has_ended = (rewards > 0) | (after != 0).flatten(1).all(dim=1)
            following = following.masked_fill(has_ended, 0.0)
        return self.reward_scale * rewards + self.gamma * following


class BoardPolicy(DQNPolicy):
    """The policy of `MaskedDQN`; `policy_kwargs` are those of `BoardQNetwork` and `DQNPolicy`."""

    q_net: BoardQNetwork
    q_net_target: BoardQNetwork

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Discrete,
        lr_schedule: Any,
        **kwargs: Any,
    ) -> None:
        names = inspect.signature(BoardQNetwork).parameters.keys()
        self._network = {name: kwargs.pop(name) for name in names & kwargs.keys()}
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def make_q_net(self) -> BoardQNetwork:
        """Return a new network."""
        spaces_: Any = self.observation_space, self.action_space
        return BoardQNetwork(*spaces_, **self._network).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self._network


def symmetric_images(boards: Tensor) -> Tensor:
    """Return each board `(n, R, C)` as one of its symmetric images, drawn uniformly."""
    drawn = torch.rand(3, len(boards), 1, 1, device=boards.device) < 0.5
    boards = torch.where(drawn[0], boards.flip(1), boards)
    boards = torch.where(drawn[1], boards.flip(2), boards)
    if boards.shape[1] == boards.shape[2]:
        boards = torch.where(drawn[2], boards.transpose(1, 2), boards)
    return boards
