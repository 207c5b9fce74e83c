"""A third game is data: the powers of three, through the public API alone, in every agent."""

import json

import gymnasium as gym
import numpy as np
import pytest
from commands import TESTS, python, typed

from baselines import evaluate, load
from tile_envs.sliding import Rules
from tile_envs.sliding.game import SlidingGame

ENV = "Powers3-v0"
SMALL = {"shape": [2, 2]}


def test_the_largest_reward_is_paid_in_full(engine):
    start = {"board": [[16, 16, 0, 0], [16, 16, 0, 0], [0] * 4, [0] * 4]}
    env, envs = gym.make(ENV), gym.make_vec(ENV, 2, engine=engine)
    env.reset(seed=0, options=start), envs.reset(seed=0, options=start)
    _, reward, *_, info = env.step(3)
    _, rewards, *_, infos = envs.step([3, 3])
    assert reward == info["score"] == 2 * 129_140_163
    assert rewards.tolist() == infos["score"].tolist() == [2 * 129_140_163] * 2
    assert info["max_tile"] == 129_140_163
    full = np.full((1, 4, 4), 16)
    assert env.unwrapped.game.afterstates(full)[1].tolist() == [[8 * 129_140_163] * 4]


LEARNERS = {
    "qtable": (SMALL, ["--games", 2000]),
    "ntuple": ({}, ["--games", 200, "--network", "0123"]),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, (options, settings) in LEARNERS.items():
        words = ("--env", f"powers3:{ENV}", "--env-kwargs", json.dumps(options))
        typed("train", name, *words, "--out", folder / name, *settings)
    return folder


@pytest.mark.parametrize("name", LEARNERS)
def test_a_trained_agent_is_loaded_and_evaluated(runs, name):
    agent, options = load(runs / name), LEARNERS[name][0]
    boards, _ = gym.make_vec(ENV, 8, **options).reset(seed=0)
    assert agent.action_values(boards).shape == (8, 4)
    random = evaluate("random", ENV, options, episodes=300)["mean"]
    assert evaluate(agent, ENV, options, episodes=300)["mean"] > 1.3 * random


PROGRAM = """
import sys
from commands import refused, typed
print(refused("evaluate", sys.argv[1]))
print(typed("evaluate", sys.argv[1], "--import", "powers3", "--episodes", 50))
"""


def test_a_folder_says_which_module_it_needs(runs):
    told = python("-c", PROGRAM, runs / "ntuple", cwd=TESTS).stdout
    assert "powers3: import it first, with --import" in told
    assert f"ntuple on {ENV}" in told


GOOD = {"name": "Chain", "faces": (0, 1, 2, 4, 8), "spawn": {1: 1.0}, "goal": 4}
GOOD["merges"] = [(1, 1, 2), (2, 2, 3)]  # the chain ends early: 4s do not merge


def test_a_chain_of_merges_may_end_early():
    game = SlidingGame(Rules(**GOOD))
    board = np.array([[[3, 3, 2, 2], [1, 1, 0, 0], [0] * 4, [0] * 4]])
    after, rewards, _ = game.afterstates(board)
    assert after[0, 3, :2].tolist() == [[3, 3, 3, 0], [2, 0, 0, 0]]
    assert rewards[0, 3] == 6
    assert game.largest_tile == 3


def test_rewards_of_a_move_are_bounded_by_the_board():
    rules = Rules(**GOOD | {"faces": (0, 1, 2, 2**30), "merges": [(2, 2, 3)], "goal": 2})
    SlidingGame(rules, (1, 3)), SlidingGame(rules, (3, 4))
    for shape in ((4, 4), (8, 8)):
        with pytest.raises(ValueError, match=f"pays {2**30}, .* for boards of {shape[0]}×"):
            SlidingGame(rules, shape)
