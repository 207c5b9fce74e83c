"""Masked PPO in one file, in the style of CleanRL: learns 2048 in five minutes on one core.

    python benchmarks/libraries/cleanrl_ppo.py --env-id Tiles2048-v0 --minutes 5

In Gymnasium's default autoreset mode, NextStep, the step after the end of a game resets it.  Hence:
(1) No action is legal on the last board of a game, and the softmax over no logit is NaN.
(2) The step that resets a game ignores its action and gives reward 0: the loss must leave it out.
`autoreset_mode="SameStep"` spares both.  But then the last board of a game that a time limit ends
is in `infos["final_obs"]`; in NextStep it is the next observation, as after any other step.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import tyro
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import NormalizeReward, RecordEpisodeStatistics
from torch import Tensor, nn
from torch.distributions import Categorical

import tile_envs  # noqa: F401 # registers the games


@dataclass
class Args:
    """Masked PPO on a game of tile_envs."""

    env_id: str = "Tiles2048-v0"  # Tiles2048-v0, Tiles2584-v0, TicTacToe-v0, or a game of your own.
    seed: int = 1  # Seed of games, network and exploration.
    minutes: float = 5.0  # Training budget in minutes of CPU time.
    total_timesteps: float = np.inf  # Training budget in steps: the first to be spent counts.
    num_envs: int = 512  # Games played side by side.
    num_steps: int = 32  # Steps of each game in a rollout.
    width: int = 128  # Units of each hidden layer.
    learning_rate: float = 2.5e-3  # Learning rate, which falls linearly to 0 over the budget.
    gamma: float = 0.997  # Discount factor.
    gae_lambda: float = 0.9  # λ of the generalized advantage estimate.
    update_epochs: int = 4  # Passes over each rollout.
    num_minibatches: int = 4  # Gradient steps in each pass.
    clip_coef: float = 0.2  # Clip range of the probability ratio.
    ent_coef: float = 0.01  # Entropy coefficient.
    vf_coef: float = 0.5  # Coefficient of the value loss.
    max_grad_norm: float = 0.5  # Largest norm of a gradient.


class Agent(nn.Module):
    """Policy and values of boards, from a row of weights for each pair of neighbouring tiles."""

    def __init__(self, envs: VectorEnv, width: int) -> None:
        super().__init__()
        boards, actions = envs.single_observation_space, envs.single_action_space
        rows, columns = boards.shape
        self.lowest = int(boards.low.min())
        self.tiles = int(boards.high.max()) - self.lowest + 1
        pairs = (rows - 1) * columns + rows * (columns - 1)
        self.register_buffer("offsets", torch.arange(pairs) * self.tiles**2)
        self.pairs = nn.EmbeddingBag(pairs * self.tiles**2, width, mode="sum")
        nn.init.normal_(self.pairs.weight, std=pairs**-0.5)
        self.hidden = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.actor, self.critic = nn.Linear(width, int(actions.n)), nn.Linear(width, 1)
        for layer, gain in ((self.hidden[1], 2**0.5), (self.actor, 0.01), (self.critic, 1)):
            nn.init.orthogonal_(layer.weight, gain)

    def forward(self, boards: Tensor, masks: Tensor) -> tuple[Categorical, Tensor]:
        """Return the policy over legal actions and the values `(n,)` of boards `(n, R, C)`."""
        cells = boards.long() - self.lowest
        down = (cells[:, :-1] * self.tiles + cells[:, 1:]).flatten(1)
        right = (cells[:, :, :-1] * self.tiles + cells[:, :, 1:]).flatten(1)
        hidden = self.hidden(self.pairs(torch.cat((down, right), 1) + self.offsets))
        # (1) Where no action is legal the game has ended and ignores its action: allow them all.
        legal = (masks > 0) | ~masks.any(1, keepdim=True)
        logits = self.actor(hidden).masked_fill(~legal, -torch.inf)
        return Categorical(logits=logits), self.critic(hidden).squeeze(1)

    @torch.no_grad()
    def predict(self, observation: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """Return the most likely action of each board."""
        return self(torch.as_tensor(observation), torch.as_tensor(action_masks))[0].mode.numpy()


@torch.no_grad()
def rollouts(agent: Agent, envs: VectorEnv, args: Args) -> Iterator[tuple[list[Tensor], int]]:
    """Yield the transitions of one rollout after another, and the illegal actions so far."""
    boards, infos = envs.reset(seed=args.seed)
    ended, illegal = torch.zeros(args.num_envs, dtype=torch.bool), 0
    while True:
        steps = []
        for _ in range(args.num_steps):
            state = torch.as_tensor(boards), torch.as_tensor(infos["action_mask"])
            policy, value = agent(*state)
            action = policy.sample()
            # (2) Where a game has ended, this is the step that resets it.
            step = (*state, action, policy.log_prob(action), value, ~ended)
            boards, *outcome, infos = envs.step(action.numpy())
            reward, terminated, truncated = map(torch.as_tensor, outcome)
            ended, illegal = terminated | truncated, illegal + int(infos["illegal"].sum())
            steps.append((*step, reward.float(), terminated, ended))
        *inputs, values, playing, rewards, over, ends = map(torch.stack, zip(*steps, strict=True))
        _, last = agent(torch.as_tensor(boards), torch.as_tensor(infos["action_mask"]))
        following = torch.cat((values[1:], last[None]))
        advantages, later = torch.zeros_like(values), 0.0
        for t in reversed(range(args.num_steps)):
            # Only termination makes the rest worth 0: at a time limit the last board has its value.
            delta = rewards[t] + args.gamma * ~over[t] * following[t] - values[t]
            later = advantages[t] = delta + args.gamma * args.gae_lambda * ~ends[t] * later
        yield [x[playing] for x in (*inputs, advantages, advantages + values)], illegal  # (2)


def train(args: Args) -> tuple[Agent, dict[str, float]]:
    """Train an agent; return it, and the last of the metrics that are printed every few seconds."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # what Adam's moments of pairs no longer seen become is slow
    torch.manual_seed(args.seed)
    games = RecordEpisodeStatistics(gym.make_vec(args.env_id, num_envs=args.num_envs))
    agent = Agent(games, args.width)
    optimizer = torch.optim.Adam(agent.parameters(), eps=1e-5, fused=True)
    steps, used, began, printed = 0, 0.0, time.process_time(), time.time()
    for batch, illegal in rollouts(agent, NormalizeReward(games, args.gamma), args):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - used)
        for _ in range(args.update_epochs):
            for chosen in torch.randperm(len(batch[0])).chunk(args.num_minibatches):
                boards, masks, actions, log_probs, advantages, returns = (x[chosen] for x in batch)
                policy, values = agent(boards, masks)
                ratio = (policy.log_prob(actions) - log_probs).exp()
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
                loss = -torch.min(advantages * ratio, advantages * clipped).mean()
                loss += args.vf_coef * 0.5 * (values - returns).square().mean()
                loss -= args.ent_coef * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
        steps, seconds = steps + args.num_steps * args.num_envs, time.process_time() - began
        used = max(steps / args.total_timesteps, seconds / 60 / args.minutes)
        if used >= 1 or time.time() > printed + 5:
            score, printed = float(np.mean(games.return_queue or np.nan)), time.time()
            metrics = {"steps": steps, "games": int(games.episode_count), "mean score": score}
            metrics |= {"steps/s": steps / seconds, "illegal": illegal, "loss": loss.item()}
            print("  ".join(f"{name} {value:,.6g}" for name, value in metrics.items()), flush=True)
        if used >= 1:
            return agent, metrics


if __name__ == "__main__":
    train(tyro.cli(Args))
