"""Games in files, to be learned from: a person's, or those of a strong agent.

`python -m tile_envs.play --record` writes what a person plays, `python -m baselines record` what an
agent plays; see `tile_envs.play.replay` for the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from baselines.evaluate import game_seeds
from tile_envs.agents import Agent, mask_argument
from tile_envs.play.game import Game, make
from tile_envs.play.replay import begin, read, replay_of, write


class Transitions(NamedTuple):
    """What games went through, one after the other.

    Attributes:
        boards: `(n, ...)`, the observation before each action.
        actions: `(n,) int64`.
        rewards: `(n,) float32`.
        following: `(n, ...)`, the observation after it.
        over: `(n,) bool`, whether it ended the game.
    """

    boards: NDArray[Any]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    following: NDArray[Any]
    over: NDArray[np.bool_]


def read_transitions(folder: Path, env: gym.Env[Any, Any]) -> Transitions:
    """Return what the games of a folder went through, its illegal actions left out.

    Args:
        folder: With replays, `*.json`.
        env: The game that they must be of.

    Raises:
        ValueError: If there are none, or one is damaged or of another game or shape.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise ValueError(
            f"{folder} holds no replays (*.json): record some, or name another folder."
        )
    assert env.spec is not None
    steps: list[tuple[Any, ...]] = []
    for path in paths:
        replay = read(path)
        game = begin(replay)
        if replay.env != env.spec.id or game.env.observation_space != env.observation_space:
            raise ValueError(
                f"{path} is a game of {replay.env} on {game.env.observation_space.shape}, expected "
                f"one of {env.spec.id} on {env.observation_space.shape}."
            )
        for action in replay.actions:
            game.play(action)
            before, after = game.positions[-2:]
            if not after.info["illegal"]:
                reward = after.total - before.total
                step = before.observation, action, reward, after.observation, after.terminated
                steps.append(step)
    boards, actions, rewards, following, over = zip(*steps, strict=True)
    return Transitions(
        np.array(boards),
        np.array(actions, np.int64),
        np.array(rewards, np.float32),
        np.array(following),
        np.array(over, np.bool_),
    )


def record(
    agent: Agent, env_id: str, env_kwargs: Mapping[str, Any], games: int, seed: int, folder: Path
) -> None:
    """Let an agent play, and write each game to a file of its own in a folder.

    The games are those that the judge gives agents for the same seed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, word in enumerate(tqdm(game_seeds(seed, games).tolist(), unit=" games")):
        game = Game(make(env_id, env_kwargs), word)
        state, starts = None, np.ones(1, np.bool_)
        while not game.position.over:
            mask = game.position.info["action_mask"][None].astype(np.bool_)
            actions, state = agent.predict(
                game.position.observation[None],
                state=state,
                episode_start=starts,
                deterministic=True,
                **mask_argument(agent, mask),
            )
            starts[:] = False
            game.play(int(actions[0]))
        write(replay_of(game), folder / f"{seed}-{number}.json")
