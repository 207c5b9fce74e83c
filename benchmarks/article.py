"""The deep Q-learning of a beginner's article of 2020 in one file: 2048, by its published numbers.

    python benchmarks/article.py --iterations 30

An iteration plays 20 games and stores their transitions (s, a, r, s').  Then it learns from the
1,000 newest and 2,000 others for 100 epochs, towards targets computed once (fitted Q-learning):

    y = r + max_a' Q(s', a') over the legal actions  (y = r at the end of a game).

The network takes a board and one action, and returns Q(s, a).  Differences from the article:

1.  It is written in torch, not in Keras; weights and optimizer are set as in Keras.
2.  The 20 games of an iteration are played side by side.
3.  The score of an iteration is the mean of 20 games, not one game, and they are played as the
    article's best result was: with a search that tries each move and draws one new tile after it.
    A network whose score is the best so far is scored again six times.  If the mean of these scores
    is the best, too, it is the one that plays.  The article's author chose a network by hand.
4.  It learns for 30 iterations, not for 1,200 (four days).
"""

import copy

import gymnasium as gym
import numpy as np
import torch
import tyro
from torch import Tensor, nn
from torch.nn.functional import mse_loss, one_hot

from baselines.deep.torch_setup import torch_threads
from baselines.evaluation import sampled
from baselines.search.expectimax import Expectimax

ENV, OPTIONS = "Tiles2048-v0", {"spawn": {2: 0.8, 4: 0.2}, "start_tiles": [2, 2]}
GAMES, NEWEST, OTHERS = 20, 1_000, 2_000  # games played and scored; transitions of a sample
LEARNING_STARTS, BUFFER_SIZE = 5_000, 50_000  # transitions
EPSILON, FIRST_EPSILON, FIRST_ITERATIONS = 0.1, 0.2, 30
EPOCHS, BATCH_SIZE, CONFIRMATIONS, HIDDEN = 100, 250, 6, (2048, 1024)
EVALUATIONS = (1, 300), (2, 300), (3, 100)  # plies, 1 of which is the network alone, and games


class Network(nn.Module):
    """Q(s, a): a convolution reads the faces of a board; dense layers read its output and a."""

    def __init__(self, game) -> None:
        super().__init__()
        self.game = game
        self.register_buffer("faces", torch.tensor(game.rules.faces, dtype=torch.float32))
        self.convolution = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten())
        first, second = nn.Linear(8 * 4 * 4 + 4, HIDDEN[0]), nn.Linear(*HIDDEN)
        self.dense = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Linear(HIDDEN[1], 1))
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, boards: Tensor, actions: Tensor) -> Tensor:
        """Return `(n,)` for boards `(n, 4, 4)` and actions `(n,)`."""
        seen = self.convolution(self.faces[boards.long()][:, None])
        return self.dense(torch.cat((seen, one_hot(actions, 4)), 1))[:, 0]

    @torch.no_grad()
    def action_values(self, observations: np.ndarray) -> np.ndarray:
        """Return Q of all actions, `(n, 4)`, minus infinity where they are illegal."""
        values = np.where(self.game.legal_actions(observations) > 0, 0.0, -np.inf)
        boards, actions = np.nonzero(values == 0)
        for part in np.array_split(np.arange(len(boards)), len(boards) // 4096 + 1):
            of_part = torch.as_tensor(observations[boards[part]]), torch.as_tensor(actions[part])
            values[boards[part], actions[part]] = self(*of_part)
        return values


def play(agent, envs, rng, epsilon) -> list[np.ndarray]:
    """Play a game in each environment; return (s, a, r, s', whether it ended), game by game."""
    boards, infos = envs.reset(seed=int(rng.integers(2**31)))
    steps, playing = [], np.ones(len(boards), bool)
    while playing.any():
        masks = infos["action_mask"]
        actions = masks.argmax(1)  # a game that has ended is followed by one that is not stored
        actions[playing] = agent.action_values(boards[playing]).argmax(1)
        for i in np.flatnonzero(playing & (rng.random(len(boards)) < epsilon)):
            actions[i] = rng.choice(np.flatnonzero(masks[i]))
        following, rewards, ends, _, infos = envs.step(actions)
        steps.append((boards, actions, rewards, following, ends, playing))
        boards, playing = following, playing & ~ends
    *parts, stored = (np.stack(part, axis=1) for part in zip(*steps, strict=True))
    return [part[stored] for part in parts]


def fit(network, optimizer, sample, rng) -> None:
    """Move Q(s, a) of a sample towards its targets."""
    boards, actions, rewards, following, ends = sample
    targets = rewards + np.where(ends, 0, network.action_values(following).max(1))
    sample = [torch.as_tensor(part) for part in (boards, actions, targets.astype(np.float32))]
    for _ in range(EPOCHS):
        for chosen in torch.as_tensor(rng.permutation(len(targets))).split(BATCH_SIZE):
            boards, actions, wanted = (part[chosen] for part in sample)
            optimizer.zero_grad()
            mse_loss(network(boards, actions), wanted).backward()
            optimizer.step()


def train(seed=0, iterations=30) -> tuple[Network, dict[str, float]]:
    """Train for some iterations; return the best network, and what was learned from."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    envs = gym.make_vec(ENV, GAMES, autoreset_mode="SameStep", **OPTIONS)
    network, best, best_score, memory = Network(envs.unwrapped.game), None, 0.0, None
    search = Expectimax(network, network.game, depth=2, samples=1)
    optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-3, alpha=0.9, eps=1e-7)
    moves = 0
    for iteration in range(1, iterations + 1):
        epsilon = FIRST_EPSILON if iteration <= FIRST_ITERATIONS else EPSILON
        played = play(network, envs, rng, epsilon * (np.arange(GAMES) % 10 > 0))  # 1 in 10 greedy
        moves += len(played[0])
        parts = zip(memory, played, strict=True) if memory else zip(played, strict=True)
        memory = [np.concatenate(part)[-BUFFER_SIZE:] for part in parts]
        if len(memory[0]) < LEARNING_STARTS:
            continue  # random weights may play well by chance, which is no result of learning
        others = rng.choice(len(memory[0]) - NEWEST, OTHERS, replace=False)
        fit(network, optimizer, [np.append(x[-NEWEST:], x[others], 0) for x in memory], rng)
        score = play(search, envs, rng, 0.0)[2].sum() / GAMES
        if score > best_score:
            again = [play(search, envs, rng, 0.0)[2].sum() / GAMES for _ in range(CONFIRMATIONS)]
            if np.mean(again) > best_score:
                best, best_score = copy.deepcopy(network), np.mean(again)
        print(f"iteration {iteration}, {moves:,} moves: {score:,.0f}, best {best_score:,.0f}")
    return best or network, {"games_learned": GAMES * iterations, "moves_learned": moves}


@torch_threads(1)  # restored afterwards
def measure(seed: int = 0, iterations: int = 30) -> list[dict]:
    """Train; return a row for each number of plies, and print its mean with the interval."""
    network, learned = train(seed, iterations)
    row = {"label": "article", "train_seed": seed, "threads": 1, "cores": 1}
    made = []
    for plies, episodes in EVALUATIONS:
        how = {"depth": plies, "samples": int(plies > 1)}
        agent = Expectimax(network, network.game, **how)
        record = sampled.play(agent, ENV, OPTIONS, episodes)
        made.append(row | learned | how | sampled.summary(record, "article", ENV, OPTIONS, 0))
        print("{depth} plies: {mean:,.0f} ({low:,.0f} to {high:,.0f})".format_map(made[-1]))
    return made


if __name__ == "__main__":
    tyro.cli(measure)
