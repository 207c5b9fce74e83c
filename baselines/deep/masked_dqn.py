"""Stable-Baselines3's DQN with action masks: no illegal action is ever taken, or hoped for.

SB3's DQN knows no masks.  Here the Q-network finds the legal actions in the observation by itself
(`networks`) and gives all others a value far below any, which covers greedy play and the maximum in
the target.  What is left is exploration, drawn here for each game alone and among legal actions.

    envs = Bridge(gym.make_vec("Tiles2048-v0", 64, autoreset_mode="SameStep"))
    model = MaskedDQN("BoardPolicy", envs)
    model.learn(100_000)
    model.save("model.zip")  # MaskedDQN.load("model.zip")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from baselines.deep.networks import (
    ILLEGAL,
    TICTACTOE,
    BoardNetwork,
    moves_of,
    shape_of,
    symmetric_images,
)
from tile_envs.game_vector_env import GameVectorEnv
from tile_envs.sliding.env import SlidingEnv
from tile_envs.tictactoe.env import TicTacToeEnv

BLOCK = 64


class BoardQNetwork(QNetwork):
    """What each action is worth, illegal ones far below all others.

    With afterstates, Q(s, a) = r(s, a) + γ V(afterstate of s and a): the network learns only what
    the rules do not tell, and learns it once for all positions that lead to the same afterstate.
    Afterstates that end the game are worth 0.

    Args:
        observation_space: Boards.
        action_space: Actions.
        game: The name of the rules, or "tictactoe".
        afterstates: Whether Q is made from the value of afterstates.
        symmetric: Whether to learn from boards as seen from random sides; needs afterstates, which
            leave no actions to turn along.
        width: Channels of each branch of convolutions.
        hidden: Widths of the layers after them.
        reward_scale: What rewards are multiplied by.
        discount: γ.
        bfloat16: Whether all layers but the last compute in this half precision.
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
        discount: float,
        bfloat16: bool,
    ) -> None:
        shape = shape_of(observation_space)
        flat = FlattenExtractor(observation_space)
        super().__init__(observation_space, action_space, flat, flat.features_dim, net_arch=[])
        self.moves = moves_of(game, shape)
        outputs = 1 if afterstates else int(action_space.n)
        self.q_net = BoardNetwork(  # type: ignore[assignment]
            self.moves, shape, width, hidden, outputs, bfloat16
        )
        self.afterstates, self.symmetric = afterstates, symmetric
        self.reward_scale, self.discount = reward_scale, discount

    def forward(self, obs: Any) -> Tensor:
        """Return what all actions are worth, `(n, actions)`, in scaled rewards."""
        after, rewards, legal = self.moves(obs)
        if not self.afterstates:
            return torch.where(legal, self.q_net(obs), ILLEGAL)
        places = legal.flatten().nonzero()[:, 0]
        # Layers begin slowly with a batch of a new size: only whole numbers of blocks are used.
        places = nn.functional.pad(places, (0, -len(places) % BLOCK))
        values = torch.zeros_like(rewards)
        values.view(-1)[places] = self._worth(
            after.flatten(0, 1)[places], rewards.flatten()[places]
        )
        return values.where(legal, ILLEGAL)

    def of_actions(self, observations: Tensor, actions: Tensor) -> Tensor:
        """Return what one legal action for each board is worth, `(n, 1)`; actions `(n, 1)`."""
        if not self.afterstates:
            every: Tensor = self.q_net(observations)
            return every.gather(1, actions)
        after, rewards, _ = self.moves(observations)
        games = torch.arange(len(actions), device=actions.device)
        chosen = actions[:, 0]
        return self._worth(after[games, chosen], rewards[games, chosen])[:, None]

    def legal(self, observations: Tensor) -> Tensor:
        """Return the legal actions, `(n, actions) bool`."""
        legal: Tensor = self.moves(observations)[2]
        return legal

    def _worth(self, after: Tensor, rewards: Tensor) -> Tensor:
        if self.training and self.symmetric:
            after = symmetric_images(after)
        following: Tensor = self.q_net(after)[:, 0].masked_fill(self.moves.ended(after), 0.0)
        return self.reward_scale * rewards + self.discount * following


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
        afterstates: bool = True,
        symmetric: bool = True,
        width: int = 128,
        hidden: Sequence[int] = (256, 128),
        reward_scale: float = 1 / 1024,
        discount: float = 0.99,
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
            "discount": discount,
            "bfloat16": bfloat16,
        }
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def make_q_net(self) -> BoardQNetwork:
        """Return a new network."""
        spaces_: Any = self.observation_space, self.action_space
        return BoardQNetwork(*spaces_, **self._network).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self._network


class MaskedDQN(DQN):
    """DQN for the games of this package.

    Args:
        policy: "BoardPolicy".
        env: A `Bridge`, or single environments as SB3 takes them.
        *args: Those of SB3's `DQN`.
        loss_weight: What a negative reward, a loss of tic-tac-toe, is multiplied by in learning.
        **kwargs: Those of SB3's `DQN`.  Its `gamma` is the network's discount, too; the game is
            found in the environment.

    Raises:
        ValueError: If the environment is none of this package, or a wrapper changes what is
            observed.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"BoardPolicy": BoardPolicy}
    policy: BoardPolicy
    q_net: BoardQNetwork
    q_net_target: BoardQNetwork

    def __init__(
        self, policy: Any, env: Any, *args: Any, loss_weight: float = 1.0, **kwargs: Any
    ) -> None:
        self.loss_weight = loss_weight
        super().__init__(policy, env, *args, **kwargs)

    def _setup_model(self) -> None:
        self.policy_kwargs["discount"] = self.gamma
        if self.env is not None:
            self.policy_kwargs["game"] = game_of(self.env)
        super()._setup_model()

    @classmethod
    def load(cls, path: Any, *args: Any, **kwargs: Any) -> MaskedDQN:
        """Load a model, as SB3 does.

        Raises:
            ValueError: If the file holds no whole model of this class, or one of another game than
                that of the environment that is given.
        """
        try:
            return super().load(path, *args, **kwargs)
        except (AssertionError, KeyError, RuntimeError, TypeError) as error:
            raise ValueError(f"{path} holds no whole model of MaskedDQN: {error}.") from None

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], Any]:
        """Return the best action for each observation; not deterministic, explore now and then.

        Whether a game explores is drawn for it alone, and what it does among its legal actions.
        """
        actions, state = self.policy.predict(observation, state, episode_start, deterministic=True)
        if not deterministic:
            actions = self._explored(observation, actions, self.exploration_rate)
        return actions, state

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        if self.num_timesteps < learning_starts:
            nothing = np.zeros(n_envs, np.int64)
            actions = self._explored(self._last_obs, nothing, rate=1.0)
        else:
            actions, _ = self.predict(self._last_obs)
        return actions, actions

    def _explored(self, observation: Any, actions: NDArray[Any], rate: float) -> NDArray[Any]:
        """Return actions, each replaced at a rate by a legal one drawn at random."""
        boards: Any = self.policy.obs_to_tensor(observation)[0]
        legal = self.policy.q_net.legal(boards)
        drawn = (torch.rand(legal.shape, device=legal.device) * legal).argmax(dim=1)
        explores = torch.rand(len(drawn), device=legal.device) < rate
        shape = np.shape(actions)
        return np.where(
            explores.cpu().numpy().reshape(shape), drawn.cpu().numpy().reshape(shape), actions
        )

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Learn from minibatches of the replay buffer.

        As SB3's, but that

        -   only the values of the actions that were taken are computed, which halves the time;
        -   rewards are scaled, and losses weighed;
        -   the network that learns chooses the next action and the target network values it (van
            Hasselt et al., "Deep Reinforcement Learning with Double Q-learning", 2016), else
            values come to twice the returns;
        -   errors are squared: of a large one, as a game's end is, SB3's Huber loss sees only the
            sign, and boards that end soon look as good as any.
        """
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        assert self.replay_buffer is not None
        losses = []
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            discounts = self.gamma if batch.discounts is None else batch.discounts
            rewards = batch.rewards * self.policy.q_net.reward_scale
            rewards = torch.where(rewards < 0, rewards * self.loss_weight, rewards)
            with torch.no_grad():
                best = self.q_net(batch.next_observations).argmax(dim=1, keepdim=True)
                following = self.q_net_target.of_actions(batch.next_observations, best)
                targets = rewards + (1 - batch.dones) * discounts * following
            values = self.q_net.of_actions(batch.observations, batch.actions.long())
            loss = nn.functional.mse_loss(values, targets)
            self.policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
            losses.append(loss.item())
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", np.mean(losses))


def game_of(envs: VecEnv) -> str:
    """Return what `networks.moves_of` calls the game that is played.

    Raises:
        ValueError: If it is none of this package.
    """
    game = envs.get_attr("unwrapped")[0]
    single = game.single if isinstance(game, GameVectorEnv) else game
    if isinstance(single, TicTacToeEnv):
        return TICTACTOE
    if not isinstance(single, SlidingEnv):
        raise ValueError(
            f"MaskedDQN plays the environments of tile_envs, whose legal actions it knows, "
            f"got {type(single).__name__}."
        )
    return single.rules.name
