"""Masked DQN of afterstates in one file, in the style of CleanRL: learns 2048 on one core.

    python benchmarks/libraries/cleanrl_dqn.py --env-id Tiles2048-v0 --minutes 5

A move leads from a board s to an afterstate s' without chance, and pays a reward that the rules
know.  So the network learns the value of afterstates alone (Sutton and Barto, section 6.8),

    Q(s, a) = r(s, a) + γ V(s'),  y = R + γ max_a' Q_target(S, a')  (y = R at the end of a game),

where R and S are the reward and the board that came, and minimizes (Q(s, a) - y)².
"""

import time
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import tyro
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from torch import Tensor, nn

import tile_envs  # noqa: F401 # registers the games


@dataclass
class Args:
    """Masked DQN of afterstates on a game of tile_envs."""

    env_id: str = "Tiles2048-v0"  # Tiles2048-v0, Tiles2584-v0, TicTacToe-v0, or a game of your own.
    seed: int = 1  # Seed of games, network and exploration.
    minutes: float = 5.0  # Training budget in minutes of CPU time.
    total_timesteps: float = np.inf  # Training budget in steps: the first to be spent counts.
    num_envs: int = 512  # Games played side by side.
    buffer_steps: int = 200  # Steps of each game in the replay buffer.
    learning_starts: int = 20  # Steps of each game before the first gradient step.
    batch_size: int = 1024  # Transitions of a gradient step; there is one after each step of games.
    target_interval: int = 10  # Gradient steps between updates of the target network.
    width: int = 64  # Units of each hidden layer.
    learning_rate: float = 1e-3  # Learning rate, which falls linearly to 0 over the budget.
    gamma: float = 1.0  # Discount factor.
    epsilon: float = 0.02  # Probability of a random action, which falls linearly to 0, too.
    reward_scale: float = 1 / 1024  # Factor of rewards in training.


class Agent(nn.Module):
    """Values of actions, from a row of weights for each pair of neighbouring tiles."""

    def __init__(self, envs: VectorEnv, args: Args) -> None:
        super().__init__()
        self.game, self.gamma, self.scale = envs.unwrapped.game, args.gamma, args.reward_scale
        self.lowest, self.tiles = int(envs.single_observation_space.low.min()), self.game.n_values
        rows, columns = self.game.shape
        pairs = (rows - 1) * columns + rows * (columns - 1)
        self.register_buffer("offsets", torch.arange(pairs) * self.tiles**2)
        self.pairs = nn.EmbeddingBag(pairs * self.tiles**2, args.width, mode="sum")
        nn.init.normal_(self.pairs.weight, std=0.1 * pairs**-0.5)
        self.hidden = nn.Sequential(nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU())
        self.last = nn.Linear(args.width, 1)

    def values(self, afterstates: Tensor) -> Tensor:
        """Return V `(n,)` of afterstates `(n, R, C)`."""
        cells = afterstates.long() - self.lowest
        down = (cells[:, :-1] * self.tiles + cells[:, 1:]).flatten(1)
        right = (cells[:, :, :-1] * self.tiles + cells[:, :, 1:]).flatten(1)
        return self.last(self.hidden(self.pairs(torch.cat((down, right), 1) + self.offsets)))[:, 0]

    def forward(self, boards: np.ndarray) -> Tensor:
        """Return Q of all actions, `(n, actions)`, minus infinity where they are illegal."""
        afterstates, rewards, masks = map(torch.as_tensor, self.game.afterstates(boards))
        legal = masks > 0
        values = torch.full(masks.shape, -torch.inf)
        values[legal] = self.scale * rewards[legal] + self.gamma * self.values(afterstates[legal])
        return values

    @torch.no_grad()
    def predict(self, observation: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        """Return the best legal action of each board."""
        return self(observation).argmax(1).numpy()


def train(args: Args) -> tuple[Agent, dict[str, float]]:
    """Train an agent; return it, and the last of the metrics that are printed every few seconds."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    envs = gym.make_vec(args.env_id, num_envs=args.num_envs, autoreset_mode="SameStep")
    envs = RecordEpisodeStatistics(envs)
    agent, target = Agent(envs, args), Agent(envs, args)
    target.load_state_dict(agent.state_dict())
    optimizer = torch.optim.Adam(agent.parameters(), fused=True)
    n, size = args.num_envs, (args.buffer_steps, args.num_envs)
    boards, infos = envs.reset(seed=args.seed)
    # What each step of all games was: s, a, R, S, and whether the game ended.
    states, following = (np.zeros((*size, *boards.shape[1:]), boards.dtype) for _ in range(2))
    actions, rewards, ends = (np.zeros(size, kind) for kind in (np.int64, np.float32, bool))
    steps, used, illegal, loss = 0, 0.0, 0, torch.tensor(torch.nan)
    began, printed = time.process_time(), time.time()
    while used < 1:
        place = steps // n % args.buffer_steps
        states[place], actions[place] = boards, agent.predict(boards, infos["action_mask"])
        for i in np.flatnonzero(rng.random(n) < args.epsilon * (1 - used)):
            actions[place, i] = rng.choice(np.flatnonzero(infos["action_mask"][i]))
        boards, rewards[place], terminated, truncated, infos = envs.step(actions[place])
        ends[place], following[place] = terminated, boards
        for i in np.flatnonzero(terminated | truncated):  # boards has the next game already
            following[place, i] = infos["final_obs"][i]
        steps, illegal = steps + n, illegal + int(infos["illegal"].sum())
        if steps >= n * args.learning_starts:
            filled = min(steps // n, args.buffer_steps)
            drawn = tuple(rng.integers(high, size=args.batch_size) for high in (filled, n))
            targets, goes_on = torch.as_tensor(args.reward_scale * rewards[drawn]), ~ends[drawn]
            with torch.no_grad():
                best = target(following[drawn][goes_on]).amax(1)
            targets[torch.as_tensor(goes_on)] += args.gamma * best
            values = agent(states[drawn])[torch.arange(args.batch_size), actions[drawn]]
            loss = (values - targets).square().mean()
            optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - used)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if steps // n % args.target_interval == 0:
                target.load_state_dict(agent.state_dict())
        seconds = time.process_time() - began
        used = max(steps / args.total_timesteps, seconds / 60 / args.minutes)
        if used >= 1 or time.time() > printed + 5:
            score, printed = float(np.mean(envs.return_queue or np.nan)), time.time()
            metrics = {"steps": steps, "games": int(envs.episode_count), "mean score": score}
            metrics |= {"steps/s": steps / seconds, "illegal": illegal, "loss": loss.item()}
            print("  ".join(f"{name} {value:,.6g}" for name, value in metrics.items()), flush=True)
    return agent, metrics


if __name__ == "__main__":
    train(tyro.cli(Args))
