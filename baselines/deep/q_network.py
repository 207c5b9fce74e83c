"""The Q-network of `MaskedDQN`, and the policy of Stable-Baselines3 that holds it.

boards ── rules ──> afterstates ── network ──> values of afterstates ──> Q-values

The network is a `PatternNetwork`, or `BoardConvolutions` and hidden layers.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor, create_mlp
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from baselines.deep.convolutions import BoardConvolutions
from baselines.deep.patterns import PatternNetwork
from tile_envs.errors import UsageError
from tile_envs.games import game_from_json
from tile_envs.tictactoe import TicTacToe

ILLEGAL = -1e9
"""The value of an illegal action, far below any other."""


class BoardQNetwork(QNetwork):
    """Action values of boards, those of illegal actions far below all others.

    Q(s, a) = r(s, a) + γ V(s'), s' being the afterstate of s and a: the network learns only what
    the rules do not say, and shares it among all positions that lead to the same afterstate.  The
    value of an afterstate that ends the game is 0.

    Arguments that are not explained here are settings of `DQNSettings`.

    Args:
        observation_space: Boards.
        action_space: Actions.
        game: The game as JSON text (see `game_of`).
    """

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        game: str,
        gamma: float,
        network: str = "patterns",
        width: int = 32,
        hidden: Sequence[int] = (64,),
        reward_scale: float = 1.0,
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
        if network == "patterns":
            values: Any = PatternNetwork(played, width, hidden)
        else:
            seen = BoardConvolutions(observation_space, width)
            values = nn.Sequential(seen, *create_mlp(seen.features_dim, 1, list(hidden)))
        # From random weights, the first steps overshoot, and all units before them die.
        nn.init.zeros_([*values.modules()][-1].weight)
        self.q_net = values
        self.reward_scale, self.gamma = reward_scale, gamma

    def forward(self, obs: Any) -> Tensor:
        """Return the values of all actions, `(n, actions)`, in scaled rewards."""
        return self.action_values(*self.afterstates_of(obs))

    def action_values(self, after: Tensor, rewards: Tensor, legal: Tensor) -> Tensor:
        """Return the values of all actions, given what `afterstates_of` returns."""
        values = torch.full_like(rewards, ILLEGAL)
        values[legal] = self.values_of(after[legal], rewards[legal])
        return values

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

    def values_of(self, after: Tensor, rewards: Tensor) -> Tensor:
        """Return r + γ V(s') `(n,)` of afterstates `(n, R, C)` and rewards `(n,)`."""
        return self.add_rewards(self.q_net(after)[:, 0], after, rewards)

    def add_rewards(self, following: Tensor, after: Tensor, rewards: Tensor) -> Tensor:
        """Return r + γ V(s') `(n,)`, given also what the network returns, V(s') `(n,)`."""
        if isinstance(self.game, TicTacToe):  # no move ends a sliding game: a new tile follows
            has_ended = (rewards > 0) | (after != 0).flatten(1).all(dim=1)
            following = following.masked_fill(has_ended, 0.0)
        return self.reward_scale * rewards + self.gamma * following


class BoardPolicy(DQNPolicy):
    """The policy of `MaskedDQN`; `policy_kwargs` are those of `BoardQNetwork` and `DQNPolicy`."""

    q_net: BoardQNetwork
    q_net_target: BoardQNetwork

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = inspect.signature(BoardQNetwork).parameters.keys()
        self._network = {name: kwargs.pop(name) for name in names & kwargs.keys()}
        kwargs.setdefault("optimizer_class", torch.optim.Adagrad)
        super().__init__(*args, **kwargs)

    def make_q_net(self) -> BoardQNetwork:
        """Return a new network."""
        spaces_: Any = self.observation_space, self.action_space
        return BoardQNetwork(*spaces_, **self._network).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self._network
