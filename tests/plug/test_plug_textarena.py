"""Our games in TextArena, by its own make, wrappers and states."""

import random

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("textarena", reason="needs tile-envs[textarena]")

import textarena as ta

import tile_envs.plug.textarena  # noqa: F401 # registers the games
from tile_envs.text import show

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries warn of themselves
WORDS = ("up", "right", "down", "left")


@pytest.mark.parametrize("name", ["2048", "2584"])
def test_a_seed_and_its_moves_play_the_game_of_gymnasium(name):
    env = ta.make(f"tile_envs/{name}-v0", shape=(3, 3))
    plain = gym.make(f"Tiles{name}-v0", shape=(3, 3), terminate_at_goal=True)
    random.seed(1)
    env.reset(num_players=1, seed=5)
    board, info = plain.reset(seed=5)
    rng, done = np.random.default_rng(0), False
    while not done:
        player, text = env.get_observation()
        assert player == 0
        assert show(plain.unwrapped.game, board) in text
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        done, _ = env.step(f"I think that [{WORDS[action].title()}] is best.")
        board, _, over, _, info = plain.step(action)
        assert done == over
    rewards, infos = env.close()
    goal = plain.unwrapped.game.rules.goal
    assert rewards[0] == pytest.approx(np.log(info["max_tile"]) / np.log(goal))
    assert infos[0]["reason"] == f"The largest tile is {info['max_tile']}."
    assert random.random() == random.Random(1).random(), "Python's own numbers are left alone"


def test_two_players_set_marks_in_turn_and_the_winner_gets_one():
    env = ta.make("tile_envs/TicTacToe-v0")
    env.reset(num_players=2, seed=0)
    for player, cell in zip((0, 1, 0, 1, 0), (0, 3, 1, 4, 2), strict=True):
        asked, text = env.get_observation()
        assert asked == player
        assert f"You set {'XO'[player]}." in text
        done, _ = env.step(f"[{cell}]")
    assert done
    assert env.close()[0] == {0: 1, 1: -1}
