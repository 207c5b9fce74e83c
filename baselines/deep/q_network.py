"""The Q-network of `MaskedDQN`, and the policy of Stable-Baselines3 that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from baselines.deep.moves import moves_of
from baselines.deep.networks import BoardNetwork, check_boards, symmetric_images
from tile_envs.games import game_from_json

ILLEGAL = -1e9
"""The value of an illegal action: finite, because targets multiply it by 0 after a game's end."""
BLOCK = 64
"""Boards of a batch are padded to a multiple of this."""


class BoardQNetwork(QNetwork):
    """Action values of boards, those of illegal actions far below all others.

    With `afterstates`, Q(s, a) = r(s, a) + γ V(s'), s' being the afterstate of s and a: the network
    learns only what the rules do not say, and shares it among all positions that lead to the same
    afterstate.  The value of an afterstate that ends the game is 0.

    Args:
        observation_space: Boards.
        action_space: Actions.
        game: The game as JSON text (see `rules_of`).
        afterstates: Whether Q is made from the value of afterstates.
        symmetric: Whether to train on random symmetric images of afterstates.
        width: Channels of each branch of convolutions.
        hidden: Widths of the hidden layers after them.
        reward_scale: Factor of rewards.
        gamma: The discount γ.
        bfloat16: Whether all layers but the last compute in bfloat16.

    Raises:
        ValueError: If the observation space is not that of the game's boards.
    """

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        game: str,
        afterstates: bool,
        symmetric: bool,
        width: int,
        hidden: Sequence[int],
        reward_scale: float,
        gamma: float,
        bfloat16: bool,
    ) -> None:
        moves = moves_of(game_from_json(game))
        check_boards(observation_space, moves.shape)
        flat = FlattenExtractor(observation_space)
        super().__init__(observation_space, action_space, flat, flat.features_dim, net_arch=[])
        self.moves = moves
        outputs = 1 if afterstates else int(action_space.n)
        self.q_net = BoardNetwork(  # type: ignore[assignment]
            moves, width, hidden, outputs, bfloat16
        )
        self.afterstates, self.symmetric = afterstates, symmetric
        self.reward_scale, self.gamma = reward_scale, gamma

    def forward(self, obs: Any) -> Tensor:
        """Return the values of all actions, `(n, actions)`, in scaled rewards."""
        after, rewards, legal = self.moves(obs)
        if not self.afterstates:
            return torch.where(legal, self.q_net(obs), ILLEGAL)
        places = legal.flatten().nonzero()[:, 0]
        # Torch takes long to prepare layers for a new batch size, so there are few different ones.
        places = nn.functional.pad(places, (0, -len(places) % BLOCK))
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
        after, rewards, _ = self.moves(observations)
        games = torch.arange(len(actions), device=actions.device)
        chosen = actions[:, 0]
        return self._values(after[games, chosen], rewards[games, chosen])[:, None]

    def legal_actions(self, observations: Tensor) -> Tensor:
        """Return the action masks `(n, actions) bool`."""
        legal: Tensor = self.moves(observations)[2]
        return legal

    def _values(self, after: Tensor, rewards: Tensor) -> Tensor:
        """Return r + γ V(s') `(n,)` of afterstates `(n, R, C)` and rewards `(n,)`."""
        if self.training and self.symmetric:
            after = symmetric_images(after)
        following: Tensor = self.q_net(after)[:, 0].masked_fill(self.moves.ended(after), 0.0)
        return self.reward_scale * rewards + self.gamma * following


class BoardPolicy(DQNPolicy):
    """The policy of `MaskedDQN`; `policy_kwargs` are the arguments of `BoardQNetwork`."""

    q_net: BoardQNetwork
    q_net_target: BoardQNetwork

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Discrete,
        lr_schedule: Any,
        game: str,
        gamma: float,
        afterstates: bool = True,
        symmetric: bool = True,
        width: int = 128,
        hidden: Sequence[int] = (64, 64),
        reward_scale: float = 1.0,
        bfloat16: bool = False,
        **kwargs: Any,
    ) -> None:
        self._network: dict[str, Any] = {
            "game": game,
            "afterstates": afterstates,
            "symmetric": symmetric,
            "width": width,
            "hidden": hidden,
            "reward_scale": reward_scale,
            "gamma": gamma,
            "bfloat16": bfloat16,
        }
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def make_q_net(self) -> BoardQNetwork:
        """Return a new network."""
        spaces_: Any = self.observation_space, self.action_space
        return BoardQNetwork(*spaces_, **self._network).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self._network
