"""Tic-tac-toe in PettingZoo: its own checkers, its own game, and the Gymnasium environment."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("pettingzoo", reason="needs tile-envs[pettingzoo]")

from pettingzoo import test as checks
from pettingzoo.classic.tictactoe import tictactoe as their_own

from baselines.agents import RandomAgent
from baselines.evaluation.sampled import play
from benchmarks.libraries import pettingzoo_selfplay
from tile_envs.plug import pettingzoo as tictactoe
from tile_envs.plug.pettingzoo import MARKS
from tile_envs.tictactoe import TicTacToe

AGENTS = list(MARKS)


def start(env, **options):
    env.reset(seed=0, options=options)
    return env


def seen(env, agent):
    observation = env.observe(agent)
    return observation["observation"].tolist(), observation["action_mask"].tolist()


@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
def test_pettingzoo_finds_the_api_seeds_and_render_modes_complete(make):
    checks.api_test(make(), num_cycles=100)
    checks.seed_test(make)
    checks.render_test(make)


def test_games_are_those_of_pettingzoos_own():
    """The same agents, boards, masks, rewards and ends, until all agents are gone."""
    rng, results = np.random.default_rng(0), set()
    ours, theirs = tictactoe.env(), their_own.env()
    for _ in range(300):
        ours.reset(), theirs.reset()
        for agent in ours.agent_iter():
            assert agent == theirs.agent_selection
            (board, *one), (planes, *other) = ours.last(), theirs.last()
            assert one[:3] == other[:3]
            planes, own = planes["observation"], board["observation"]
            assert np.array_equal(own, planes[..., 0].astype(int) - planes[..., 1])
            action = None
            if not (one[1] or one[2]):
                mask = board["action_mask"]
                assert np.array_equal(mask, theirs.observe(agent)["action_mask"])
                action = int(rng.choice(np.flatnonzero(mask)))
            ours.step(action), theirs.step(action)
            for name in ("rewards", "terminations", "truncations"):
                assert getattr(ours, name) == getattr(theirs, name)
            results.update(ours.rewards.items())
        assert theirs.agents == ours.agents == []
    assert results == {(agent, reward) for agent in AGENTS for reward in (-1, 0, 1)}


def test_games_are_those_of_the_gymnasium_environment():
    """With side "both": boards, masks, illegal actions, and the reward of the one who moves."""
    rng, results = np.random.default_rng(1), set()
    ours, theirs = tictactoe.raw_env(), gym.make("TicTacToe-v0", side="both")
    for _ in range(300):
        ours.reset()
        observation, info = theirs.reset()
        over = False
        while not over:
            agent = ours.agent_selection
            (other,) = {*AGENTS} - {agent}
            assert MARKS[agent] == info["to_play"]
            assert seen(ours, agent) == (observation.tolist(), info["action_mask"].tolist())
            assert seen(ours, other) == ((-observation).tolist(), [0] * 9)
            action = int(rng.integers(9))
            ours.step(action)
            observation, reward, over, _, info = theirs.step(action)
            assert ours.rewards == {agent: reward, other: -reward}
            assert ours.terminations == {agent: over, other: over}
            assert ours.infos[agent] == {"winner": info["winner"], "illegal": info["illegal"]}
            assert ours.infos[other] == {"winner": info["winner"], "illegal": False}
            results.add((agent, reward, info["illegal"]))
        assert all(not ours.observe(name)["action_mask"].any() for name in AGENTS)
    assert results == {(a, *end) for a in AGENTS for end in ((0, False), (0, True), (1, False))}


def test_an_illegal_action_loses_in_the_wrapped_game_and_a_run_of_them_truncates_the_raw_one():
    env = start(tictactoe.env())
    env.step(4), env.step(4)
    assert env.rewards == {"player_1": 0, "player_2": -1}
    assert all(env.terminations.values())
    env = start(tictactoe.raw_env(max_illegal=3))
    for _ in range(3):
        env.step(4)
        assert env.agent_selection == "player_2"
        assert not any(env.truncations.values())
    env.step(4)
    assert env.truncations == {"player_1": True, "player_2": True}
    assert not any((*env.terminations.values(), *env.rewards.values()))


def test_a_game_starts_from_a_board():
    env = start(tictactoe.env(), board=[[1, 1, 0], [-1, 0, 0], [0, 0, 0]])
    assert env.agent_selection == "player_2"
    assert seen(env, "player_2") == ([[-1, -1, 0], [1, 0, 0], [0, 0, 0]], [0, 0, 1, 0, *[1] * 5])
    env.step(8), env.step(2)
    assert env.rewards == {"player_1": 1, "player_2": -1}


def test_the_program_learns_by_self_play():
    table = pettingzoo_selfplay.train(games=2_000)
    for side in ("X", "O"):
        agents = table, RandomAgent(TicTacToe(side=side))
        games = (play(agent, "TicTacToe-v0", {"side": side}, 200) for agent in agents)
        learned, random = (record.returns.mean() for record in games)
        assert learned > random + 0.2
