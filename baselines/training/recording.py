"""Recorded games, to learn from: those of a person, or of a strong agent.

`python -m tile_envs.play --record` writes what a person plays, and `python -m baselines record`
what an agent plays, as replays (see `tile_envs.replay`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.progress import Progress
from baselines.seeds import game_seeds
from baselines.settings import check_batch
from baselines.task import Task
from baselines.training.run_folder import check_free, lock_folder
from tile_envs.agents import Agent, ask
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import make
from tile_envs.replay import Playthrough, begin, read, replay_of, write
from tile_envs.words import counted

VERSION = 2
"""Raised when the same command records other games."""
BYTES_PER_SEED = 40
"""What the seed of a game takes, also as an integer of Python."""


class Transitions(NamedTuple):
    """The transitions of games, one game after the other.

    Attributes:
        boards: `(n, ...)`, the observation before each action.
        actions: `(n,) int64`.
        rewards: `(n,) float32`.
        following: `(n, ...)`, the observation after each action.
        over: `(n,) bool`, whether the action ended the game.
    """

    boards: NDArray[Any]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    following: NDArray[Any]
    over: NDArray[np.bool_]


def read_transitions(folder: Path, game: Game) -> Transitions:
    """Return the transitions of a folder's games, without illegal actions.

    Args:
        folder: A folder with replays, `*.json`.
        game: The game that they must be of; its opponent or spawn distribution may be another.

    Raises:
        ValueError: If there are none, or one is damaged or of another game or shape.
    """
    steps: list[tuple[Any, ...]] = []
    for path in sorted(folder.glob("*.json")):
        replay = read(path)
        playthrough = begin(replay)
        recorded = playthrough.env.game
        if (recorded.name, recorded.shape) != (game.name, game.shape):
            raise UsageError(f"{path} is a game of {recorded}, expected one of {game}.")
        for action in replay.actions:
            playthrough.play(action)
            before, after = playthrough.positions[-2:]
            if not after.info["illegal"]:
                reward = after.total - before.total
                step = before.observation, action, reward, after.observation, after.terminated
                steps.append(step)
    if not steps:
        raise UsageError(
            f"{folder} holds no replays (*.json) with legal actions: record some games, or name "
            "another folder."
        )
    boards, actions, rewards, following, over = zip(*steps, strict=True)
    return Transitions(
        np.array(boards),
        np.array(actions, np.int64),
        np.array(rewards, np.float32),
        np.array(following),
        np.array(over, np.bool_),
    )


def _check_others(folder: Path, task: Task) -> None:
    """Say that a folder holds games already, which must be of the same task."""
    paths = sorted(folder.glob("*.json"))
    for path in paths:
        there = read(path)
        made = make(there.env, there.options).game
        if (there.env, str(made)) != (task.env, str(task.game)):
            raise UsageError(
                f"{folder} holds games of {made}, {there.env}: give those of {task.game} a folder "
                "of their own."
            )
    if paths:
        print(f"{folder} holds {counted(len(paths), 'game')} already; the same seed's are replaced")


def record(agent: Agent, task: Task, games: int, seed: int, folder: Path, name: str = "") -> None:
    """Let an agent play, and write each game to a file of its own in a folder.

    No game is one of an evaluation, so that what learns from them can be evaluated with any seed.

    Args:
        agent: The agent.
        task: What it plays.
        games: Number of games.
        seed: Seed of the games.
        folder: Where the replays are written.
        name: The agent's name, which they tell.

    Raises:
        ValueError: If the folder holds a run or games of another task, or another process writes to
            it.
    """
    check_batch(games, "episodes", BYTES_PER_SEED)
    seeds = game_seeds(seed, games, "recording").tolist()
    check_free(folder)
    _check_others(folder, task)
    with lock_folder(folder), Progress("recording", games) as progress:
        for number, word in enumerate(seeds):
            playthrough = Playthrough(make(task.env, task.env_kwargs), word)
            state, episode_start = None, np.ones(1, np.bool_)
            while not playthrough.position.over:
                position = playthrough.position
                mask = position.info["action_mask"]
                actions, state = ask(
                    agent, position.observation[None], mask[None], state, episode_start
                )
                episode_start = np.zeros(1, np.bool_)
                playthrough.play(int(actions[0]))
            write(replay_of(playthrough, name), folder / f"{seed}-{number}.json")
            progress.update(number + 1, counted(number + 1, "game"))
    print(
        f"wrote {counted(games, 'game')} to {folder}; python -m baselines watch {folder} shows them"
    )
