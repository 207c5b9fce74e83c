"""A person plays tic-tac-toe against an agent, sees what it thinks, and may teach it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from baselines import runs
from baselines.episodes import Episodes
from baselines.learner import SIDES, BatchLearner
from baselines.roster import TRAINABLE, Contestant, contestant, make_learner
from baselines.training import default_options
from tile_envs.play.game import Game, Position
from tile_envs.play.player import play
from tile_envs.play.terminal import Terminal
from tile_envs.play.tictactoe import TicTacToeControls
from tile_envs.tictactoe.env import TicTacToeEnv
from tile_envs.tictactoe.positions import CELLS, SIDE, O, X

ENV = "TicTacToe-v0"


def play_against(against: str, side: str, show_values: bool, learn: bool, seed: int) -> None:
    """Let a person play game after game against an agent.

    Args:
        against: A named agent, a trained run's folder, or one of `TRAINABLE`.
        side: The person's, "X" or "O".
        show_values: Whether to show what the agent thinks of each free cell.
        learn: Whether it learns from every game.
        seed: The agent's own random numbers, and the first game's.

    Raises:
        ValueError: If there is no such agent or side, the agent has not learned the side that it
            needs, or it cannot learn.
        RuntimeError: If there is no terminal.
    """
    if side not in SIDES:
        raise ValueError(f"side must be X or O, got {side!r}.")
    folder = _beginner(against, seed) if against in TRAINABLE else Path(against)
    player = contestant(str(folder), ENV, {}, seed, {})
    needed = SIDES if show_values else tuple(other for other in SIDES if other != side)
    for each in needed:
        player.sides_to_judge(each, exact=False)
    if learn and not player.trained:
        raise ValueError(f"{against} does not learn: expected a trained run's folder.")
    env = gym.make(ENV, opponent=player.agent, side=side)
    controls = _Controls(env.unwrapped, player if show_values else None)  # type: ignore[arg-type]

    def left(game: Game) -> None:
        if learn and game.position.over and game.actions:
            assert isinstance(player.agent, BatchLearner)
            player.agent.learn_from(episode_of(game, O if side == "X" else X))
            runs.write_checkpoint(folder, player.agent.state())

    with Terminal() as screen:
        play(env, screen, seed, controls=controls, left=left)


def episode_of(game: Game, mark: int) -> Episodes:
    """Return a game as the environment's side saw it, the one that a person played against.

    Args:
        game: A game of tic-tac-toe that is over.
        mark: The mark of the environment's side.

    Returns:
        One episode: what that side saw, played, and got.
    """
    observations, actions = [], []
    boards = [position.state["board"] for position in game.positions]
    before = np.zeros((SIDE, SIDE), np.int8)
    for board, action in zip(boards, [None, *game.actions], strict=True):
        seen = before.copy()
        if action is not None:
            seen.reshape(-1)[action] = -mark
        answer = np.flatnonzero(board != seen)
        if answer.size:
            observations.append(seen * mark)
            actions.append(answer[0])
        before = board
    rewards = np.zeros((len(actions), 1))
    rewards[-1] = game.position.info["winner"] * mark
    playing = np.ones((len(actions), 1), np.bool_)
    return Episodes(np.array(observations)[:, None], np.array(actions)[:, None], rewards, playing)


def _beginner(name: str, seed: int) -> Path:
    """Return the folder of an agent that a person teaches, made when there is none yet."""
    folder = Path("runs", f"{name}-person")
    if not (folder / runs.CONFIG).exists():
        options = default_options(name, ENV, "published")
        settings = dataclasses.replace(options.settings, batch=1)
        learner = make_learner(name, ENV, {}, SIDES, settings, seed)
        entries: dict[str, Any] = {"agent": name, "env": ENV, "env_kwargs": {}, "seed": seed}
        entries |= {"sides": SIDES, "settings": dataclasses.asdict(settings)}
        runs.begin(folder, entries)
        runs.write_checkpoint(folder, learner.state())
    return folder


class _Controls(TicTacToeControls):
    """The usual controls; below the board stands what an agent thinks of it, if one is asked."""

    def __init__(self, env: TicTacToeEnv, asked: Contestant | None) -> None:
        super().__init__(env)
        self._asked = asked

    def words(self, position: Position) -> str:
        """Return whose turn it is or who has won, and the agent's values of the free cells."""
        line = super().words(position)
        if self._asked is None or position.over:
            return line
        agent: Any = self._asked.agent
        estimate = getattr(agent, "values", None) or agent.action_probabilities
        values = estimate(position.observation[None])[0]
        cells = [
            f"{cell}: {values[cell]:+.3f}" if legal else " " * 9
            for cell, legal in enumerate(position.info["action_mask"])
        ]
        rows = ["   ".join(cells[first : first + SIDE]) for first in range(0, CELLS, SIDE)]
        return "\n".join([f"{line} · what {self._asked.name} thinks of your cells:", *rows])
