"""Games that must never change: replay files and committed results depend on them."""

import gymnasium as gym
import numpy as np
import pytest

import tile_envs  # noqa: F401

GAMES = {
    "Tiles2048-v0": [[2, 5, 3, 1], [0, 3, 3, 6], [0, 1, 0, 2], [0, 0, 0, 1]],
    "Tiles2584-v0": [[3, 1, 1, 2], [2, 7, 8, 0], [0, 0, 2, 1], [0, 0, 0, 0]],
    "TicTacToe-v0": [[0, 1, 1], [1, -1, 1], [-1, -1, -1]],
}


@pytest.mark.parametrize("env_id", GAMES)
def test_a_seed_and_its_actions_play_the_game_they_always_played(env_id):
    """The action is always the first legal one after the last; the seed is 2048."""
    env = gym.make(env_id)
    observation, info = env.reset(seed=2048)
    action, n = 0, env.action_space.n
    for _ in range(60):
        legal = np.flatnonzero(info["action_mask"])
        if not legal.size:
            break
        action = int(min(legal, key=lambda a: (a - action - 1) % n))
        observation, *_, info = env.step(action)
    assert observation.tolist() == GAMES[env_id]
