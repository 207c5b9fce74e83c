"""Plays tic-tac-toe in PettingZoo: agents that have learned there, and perfect play.

Two tables of Q-learning, one for each agent, learn in games against each other.  Every agent then
plays against random play in each seat, and random play against itself.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from baselines.registry import make_agent
from benchmarks.libraries.clients import SEED, Client, Row, Training, client_row, installed
from tile_envs.tictactoe import TicTacToe

Policy = Callable[[NDArray[np.int8], NDArray[np.int8]], int]
"""Chooses an action from a board `(3, 3)` and a mask `(9,)`."""

SEATS = ("player_1", "player_2")
LEARNED, PERFECT = "tabular Q-learning", "minimax, not trained"
EVALUATION_SEED = 1
GAMES = 100_000
EPSILON, LEARNING_RATE = 0.3, 0.1


CLIENTS = {
    (seat, algorithm): Client(
        "PettingZoo",
        "pettingzoo",
        "pettingzoo",
        f"{algorithm}, {seat}",
        *("TicTacToe-v0", "AEC", ""),
    )
    for seat in SEATS
    for algorithm in (LEARNED, PERFECT)
}


def keys(episodes: int) -> list[Row]:
    """Return the columns that name each row; none without PettingZoo.

    Args:
        episodes: The number of games of each evaluation.
    """
    return [client.key for client in CLIENTS.values() if installed(client)]


def rows(episodes: int) -> list[Row]:
    """Train both agents by self-play, and evaluate them and minimax against random play.

    Args:
        episodes: The number of games of each evaluation.

    Returns:
        A row for each agent and seat.
    """
    began = time.perf_counter()
    learners, steps, illegal = _trained(GAMES)
    learning = Training(steps, (time.perf_counter() - began) / 60, illegal)
    minimax = make_agent("minimax", TicTacToe(side="both"), SEED)
    perfect: Policy = lambda board, mask: int(minimax.predict(board)[0])  # noqa: E731
    made = []
    for (seat, algorithm), client in CLIENTS.items():
        policy = learners[seat].best if algorithm == LEARNED else perfect
        results, illegal = _results({seat: policy}, seat, episodes)
        at_random, _ = _results({}, seat, episodes)
        training = learning if algorithm == LEARNED else Training()
        made.append(client_row(client, results, at_random, illegal, training))
    return made


class _QLearner:
    """Q-learning with a table; an agent's next board is the one after the other's reply."""

    def __init__(self, seed: int) -> None:
        self._q: dict[bytes, NDArray[np.float64]] = defaultdict(lambda: np.zeros(9))
        self._rng = np.random.default_rng(seed)
        self._last: tuple[bytes, int] | None = None

    def best(self, board: NDArray[np.int8], mask: NDArray[np.int8]) -> int:
        """Return the legal action with the highest value."""
        return int(np.where(mask, self._q[board.tobytes()], -np.inf).argmax())

    def explore(self, board: NDArray[np.int8], mask: NDArray[np.int8]) -> int:
        """Return an action to learn from."""
        explores = self._rng.random() < EPSILON
        legal = np.flatnonzero(mask)
        action = int(self._rng.choice(legal)) if explores else self.best(board, mask)
        self._last = board.tobytes(), action
        return action

    def learn(self, reward: float, board: NDArray[np.int8], mask: NDArray[np.int8]) -> None:
        """Learn what followed the last action: a reward, and the next board."""
        if self._last is not None:
            following = self._q[board.tobytes()][mask > 0].max() if mask.any() else 0.0
            values, action = self._q[self._last[0]], self._last[1]
            values[action] += LEARNING_RATE * (reward + following - values[action])
            self._last = None


def _trained(games: int) -> tuple[dict[str, _QLearner], int, int]:
    """Return the learners of both seats, the number of their actions, and of illegal ones."""
    from tile_envs.plug import pettingzoo as tictactoe

    env = tictactoe.env()
    learners = {seat: _QLearner(SEED + at) for at, seat in enumerate(SEATS)}
    steps = illegal = 0
    for _ in range(games):
        env.reset()
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            board, mask = observation["observation"], observation["action_mask"]
            learners[agent].learn(reward, board, mask)
            if terminated or truncated:
                env.step(None)
                continue
            action = learners[agent].explore(board, mask)
            steps, illegal = steps + 1, illegal + (not mask[action])
            env.step(action)
    return learners, steps, illegal


def _results(
    policies: Mapping[str, Policy], seat: str, episodes: int
) -> tuple[NDArray[np.float64], int]:
    """Return the results of a seat, `(episodes,)`, and the illegal actions of all policies.

    Args:
        policies: By agent; the others play at random.
        seat: The agent whose results are returned.
        episodes: The number of games.
    """
    from tile_envs.plug import pettingzoo as tictactoe

    env, rng = tictactoe.env(), np.random.default_rng(EVALUATION_SEED)
    random: Policy = lambda board, mask: int(rng.choice(np.flatnonzero(mask)))  # noqa: E731
    results, illegal = np.zeros(episodes), 0
    for game in range(episodes):
        env.reset()
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            if agent == seat:
                results[game] += reward
            if terminated or truncated:
                env.step(None)
                continue
            board, mask = observation["observation"], observation["action_mask"]
            action = policies.get(agent, random)(board, mask)
            illegal += not mask[action]
            env.step(action)
    return results, illegal
