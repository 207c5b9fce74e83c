"""Stable-Baselines3's DQN with action masks: illegal actions are neither taken nor bootstrapped.

The Q-network gives illegal actions a value far below any (`q_network`).  Exploration is drawn for
each game separately, among its legal actions.  `MaskedDQN.train` lists what else differs.

    envs = make_sb3("Tiles2048-v0", 64)  # of tile_envs.plug.sb3
    model = MaskedDQN("BoardPolicy", envs, policy_kwargs={"reward_scale": 1 / 1024})
    model.learn(100_000).save("model.zip")  # MaskedDQN.load("model.zip")

As with every model of Stable-Baselines3, `load` runs code that the file holds: load only files that
you trust (`baselines.load` reads the models in the folder of a run without that).
"""

from typing import Any, ClassVar

import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import NStepReplayBuffer
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from baselines.agents import game_from_json
from baselines.deep.q_network import BoardPolicy, BoardQNetwork
from tile_envs.errors import UsageError
from tile_envs.game import Game, Ints
from tile_envs.sliding import SlidingGame
from tile_envs.tictactoe import TicTacToe


class MaskedDQN(DQN):
    """DQN for the games of this package.

    Args:
        policy: "BoardPolicy".
        env: An `SB3VecEnv`, or single environments.
        learning_rate: The learning rate of Adagrad.
        **options: Those of SB3's `DQN`, and `loss_weight`, the factor of negative rewards.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"BoardPolicy": BoardPolicy}
    q_net: BoardQNetwork
    q_net_target: BoardQNetwork

    def __init__(
        self, policy: Any, env: Any, learning_rate: Any = 0.02, *args: Any, **options: Any
    ) -> None:
        self.loss_weight = options.pop("loss_weight", 1.0)
        super().__init__(policy, env, learning_rate, *args, **options)

    def _setup_model(self) -> None:
        self.policy_kwargs = self.policy_kwargs | {"gamma": self.gamma}  # the caller's is kept
        if self.env is not None:
            game = game_of(self.env)
            saved = game_from_json(self.policy_kwargs.setdefault("game", game.to_json()))
            if saved != game:
                raise UsageError(f"the model plays {saved}, and the environment {game}.")
        if self.replay_buffer_class is NStepReplayBuffer:  # of a loaded model: SB3 would warn
            self.replay_buffer_class = None  # of what it has chosen itself for `n_steps`
        super()._setup_model()
        # Adagrad makes its sums beside the parameters, before SB3 moves these to the device.
        self.policy.optimizer.load_state_dict(self.policy.optimizer.state_dict())

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Ints, Any]:
        """Return the best action for each observation; with exploration if not deterministic."""
        actions, state = self.policy.predict(observation, state, episode_start, deterministic=True)
        if deterministic:
            return actions, state
        game, explored = self.q_net.game, np.array(actions)
        explores = np.atleast_1d(torch.rand(explored.shape).numpy() < self.exploration_rate)
        legal = game.legal_actions(np.reshape(observation, (-1, *game.shape))[explores])
        drawn = (torch.rand(legal.shape).numpy() * legal).argmax(axis=1)
        explored.reshape(-1)[explores] = drawn
        return explored, state

    def _sample_action(self, learning_starts: int, *args: Any) -> tuple[Ints, Ints]:
        if self.num_timesteps < learning_starts:
            self.exploration_rate = 1.0  # for this step: SB3 sets it after each
        self.logger.record("train/exploration", self.exploration_rate)
        return super()._sample_action(0, *args)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Take gradient steps on minibatches of the replay buffer.

        A step reduces the mean of (y - Q(s, a))² over a minibatch, with the double DQN's target

            y = r + γ Q_target(s', argmax_a' Q(s', a')),  y = r after the last action of a game.

        With n-step returns, r sums n discounted rewards, s' is the board after them, and γ is γⁿ.

        Differences from SB3's `DQN.train`:

        1.  Only the values of the actions that were taken are computed.
        2.  Rewards are scaled, and negative ones weighted.
        3.  The network that is trained chooses the next action, and the target network values it
            (van Hasselt et al., "Deep Reinforcement Learning with Double Q-learning", 2016);
            otherwise values grow to twice the returns.
        4.  The loss is squared.  SB3's Huber loss keeps only the sign of a large error, such as
            that of a game's end, so that boards close to the end look as good as others.
        5.  The optimizer is Adagrad (Duchi et al., "Adaptive subgradient methods for online
            learning and stochastic optimization", 2011): the vector of a pattern that is seldom
            seen moves far, and that of a frequent one settles.  Only those seen move.  In the first
            minutes, convolutions learn more by it than by Adam, too.  Gradients are not clipped
            (`max_grad_norm` is ignored): Adagrad's steps do not depend on their scale.
        """
        self._update_learning_rate(self.policy.optimizer)
        assert self.replay_buffer is not None
        losses, means = [], []
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            discounts = self.gamma if batch.discounts is None else batch.discounts
            rewards = batch.rewards * self.q_net.reward_scale
            rewards = torch.where(rewards < 0, rewards * self.loss_weight, rewards)
            games = torch.arange(batch_size, device=self.device)
            with torch.no_grad():
                after, gains, legal = self.q_net.afterstates_of(batch.next_observations)
                chosen = games, self.q_net.action_values(after, gains, legal).argmax(dim=1)
                following = self.q_net_target.values_of(after[chosen], gains[chosen])
                targets = rewards + (1 - batch.dones) * discounts * following[:, None]
            after, gains, _ = self.q_net.afterstates_of(batch.observations)
            taken = games, batch.actions[:, 0].long()
            values = self.q_net.values_of(after[taken], gains[taken])
            loss = nn.functional.mse_loss(values[:, None], targets)
            self.policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            # Torch warns of sparse gradients if it has not been told whether to check them.
            with torch.sparse.check_sparse_tensor_invariants(enable=False):  # type: ignore
                self.policy.optimizer.step()
            losses.append(loss.item())
            means.append(values.detach().mean().item())
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", np.mean(losses))
        self.logger.record("train/value", np.mean(means) / self.q_net.reward_scale)


def game_of(envs: VecEnv) -> Game:
    """Return the game of environments without spawn distribution and opponent, which may change."""
    game = getattr(env := envs.get_attr("unwrapped")[0], "game", None)
    if not isinstance(game, SlidingGame | TicTacToe):
        raise UsageError(f"MaskedDQN plays the games of tile_envs, got {type(env).__name__}.")
    return TicTacToe() if isinstance(game, TicTacToe) else SlidingGame(game.rules, game.shape)
