"""A third game is data: the powers of three, through the public API alone, in every agent."""

import json
import os
from dataclasses import asdict, replace
from itertools import product

import gymnasium as gym
import numpy as np
import powers3
import pytest
from commands import TESTS, in_a_process, python, refused, typed

from baselines import evaluate, evaluate_exactly, load, train
from baselines.players import open_player
from baselines.training.run import config_for
from tile_envs.sliding import RULES_2048, Rules, SlidingEnv, SlidingVectorEnv, register_game
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import rules_2048

ENV = "Powers3-v0"
SMALL = {"shape": [2, 2]}


def test_the_largest_reward_is_paid_in_full(engine):
    board = [[16, 16, 0, 0], [16, 16, 0, 0], [0] * 4, [0] * 4]
    env, envs = gym.make(ENV), gym.make_vec(ENV, 2, engine=engine)
    env.reset(seed=0, options={"board": board}), envs.reset(seed=0, options={"board": board})
    *_, info = step = env.step(3)
    assert step[1] == info["score"] == 2 * 129_140_163
    rewards, infos = envs.step([3, 3])[1::3]
    assert rewards.tolist() == infos["score"].tolist() == [2 * 129_140_163] * 2
    assert info["max_tile"] == 129_140_163
    full = np.full((1, 4, 4), 16)
    assert env.unwrapped.game.afterstates(full)[1].tolist() == [[8 * 129_140_163] * 4]


def test_text_and_picture():
    game = gym.make(ENV).unwrapped.game
    board = np.array([[0, 1, 2, 3], [17, 7, 0, 0], [0] * 4, [0] * 4])
    text = game.draw(board, "ansi", 24)
    assert all(word in text for word in ("Powers3  score 24", "129140163", "2187"))
    pictures = [game.draw(np.full((4, 4), tile), "rgb_array") for tile in range(18)]
    assert len({picture.tobytes() for picture in pictures}) == 18


def test_agents_without_training_play():
    random, greedy = (evaluate(name, ENV, episodes=50)["mean"] for name in ("random", "greedy"))
    assert greedy > 1.2 * random > 0


BRIEFLY = "--games 300 --width 8 --hidden 8 --learning-starts 64 --batch-size 16 --n-envs 8"
LEARNERS = {
    "qtable": (SMALL, ["--games", 2000]),
    "ntuple": ({}, ["--games", 200, "--network", "0123 4567"]),
    "dqn": (SMALL, [*BRIEFLY.split(), "--buffer-size", 5000]),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, (options, settings) in LEARNERS.items():
        words = ("--env", f"powers3:{ENV}", "--env-kwargs", json.dumps(options))
        typed("train", name, *words, "--out", folder / name, *settings)
    return folder


@pytest.mark.parametrize("name", LEARNERS)
def test_a_trained_agent_is_saved_loaded_and_evaluated(runs, name):
    options = LEARNERS[name][0]
    agent = load(runs / name)
    row = evaluate(agent, ENV, options, episodes=100)
    assert row["mean"] > 0
    boards, _ = gym.make_vec(ENV, 8, **options).reset(seed=0)
    assert agent.action_values(boards).shape == (8, 4)
    words = ("evaluate", runs / name, "--import", "powers3", "--episodes", 50)
    alone = name == "ntuple"
    told = python("-m", "baselines", *words, cwd=TESTS).stdout if alone else typed(*words)
    assert f"{name} on {ENV}" in told


def test_tables_and_tuples_learn_it(runs):
    for name in ("qtable", "ntuple"):
        options = LEARNERS[name][0]
        random = evaluate("random", ENV, options, episodes=300)["mean"]
        assert evaluate(load(runs / name), ENV, options, episodes=300)["mean"] > 1.3 * random
    progress = (runs / "ntuple" / "progress.csv").read_text()
    assert "reach_2187" in progress.splitlines()[0]  # the goal of the game


def test_it_is_searched(runs):
    found = open_player(runs / "ntuple", search=2)
    greedy = evaluate(load(runs / "ntuple"), ENV, episodes=20)["mean"]
    assert evaluate(found.agent, ENV, episodes=20)["mean"] > greedy


def test_a_folder_says_which_module_it_needs(runs):
    done = in_a_process("-m", "baselines", "evaluate", runs / "qtable", cwd=TESTS)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "powers3: import it first, with --import" in done.stderr


def test_a_person_plays_it(monkeypatch):
    monkeypatch.setattr(os, "isatty", lambda _: False)
    assert "terminal" in refused(f"powers3:{ENV}", module="tile_envs.play")
    assert "'rule' of Powers3" in refused(f"powers3:{ENV}", "-o", "rule=3", module="tile_envs.play")


def test_it_has_the_presets_of_its_kind():
    for agent in ("ntuple", "dqn", "ppo"):
        usual, own = (config_for(agent, env) for env in ("Tiles2048-v0", ENV))
        assert own.settings == usual.settings == config_for(agent, ENV, preset="default").settings
        assert own.preset == "preset default of sliding games"
    small = config_for("qtable", ENV, SMALL)
    assert (small.preset, small.settings["initial"]) == ("preset small of sliding games", None)
    with pytest.raises(ValueError, match="'x' on Powers3-v0: expected default"):
        config_for("qtable", ENV, preset="x")


@pytest.mark.parametrize("agent", ["ntuple", "qtable"])
def test_small_boards_of_it_are_learned_from_optimistic_values(agent):
    learner = train(agent, ENV, {"shape": [2, 3]}, games=200_000)
    most = sum(2 ** (7 - tile) * 3**tile for tile in range(2, 8))
    assert learner.config.settings["initial"] == most
    assert evaluate_exactly(learner, ENV, {"shape": [2, 3]})["share"] > 0.95


GOOD = {"name": "Chain", "faces": (0, 1, 2, 4, 8), "spawn": {1: 1.0}, "goal": 4}
GOOD["merges"] = [(1, 1, 2), (2, 2, 3)]  # the chain ends early: 4s do not merge
COLORS = asdict(RULES_2048.palette)
PAINTED = replace(powers3.RULES, palette=COLORS)


def test_a_chain_of_merges_may_end_early(registering):
    register_game("Chain-v0", Rules(**GOOD, palette=COLORS))
    game = gym.make("Chain-v0").unwrapped.game
    board = np.array([[[3, 3, 2, 2], [1, 1, 0, 0], [0] * 4, [0] * 4]])
    after, rewards, _ = game.afterstates(board)
    assert after[0, 3, :2].tolist() == [[3, 3, 3, 0], [2, 0, 0, 0]]
    assert rewards[0, 3] == 6
    assert game.largest_tile == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"faces": faces}, "faces") for faces in (range(33), (0, 1.5, 2), 5, iter((0, 2, 2)))),
        ({"faces": (0, 1, 2**63)}, "9223372036854775808"),
        ({"merges": 5}, "a merge .* 5"),
        ({"merges": [(1, 1, 9)]}, r"from 1 to 4, got \(1, 1, 9\)"),
        ({"merges": [(1, 1, 2), (1, 1, 3)]}, "tiles 1 and 1"),
        ({"spawn": {3: 1.0}}, "3 is not a tile of Chain"),
        ({"spawn": {1: 0.5}}, "spawn"),
        ({"goal": None}, "None is not a tile of Chain"),
        ({"name": ""}, "name"),
        ({"palette": COLORS | {"tiles": ["#123456"]}}, "5 tiles"),
        ({"palette": COLORS | {"page": "red"}}, "'red'"),
    ],
)
def test_rules_that_do_not_fit_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        Rules(**GOOD | change)


def test_an_environment_without_rules_or_with_others_than_its_own_says_what_to_do():
    gym.make("Tiles2048-v0", shape=(5, 5), rules=asdict(rules_2048((5, 5))))
    for make in (gym.make, gym.make_vec):
        with pytest.raises(ValueError, match=r"a game of 2048, got other rules, Rules.*'Powers3'"):
            make("Tiles2048-v0", rules=powers3.RULES)
    for make in (SlidingEnv, SlidingVectorEnv):
        with pytest.raises(ValueError, match="rules must be a Rules, got None"):
            make()


def test_colors_are_seen_but_are_no_rules():
    rules = powers3.RULES, PAINTED
    plain, painted = (SlidingEnv(rules=each, render_mode="rgb_array") for each in rules)
    plain.reset(seed=0)
    painted.set_state(plain.get_state())
    assert painted.game.tables is plain.game.tables
    assert not np.array_equal(painted.render(), plain.render())


def test_an_id_belongs_to_one_game():
    register_game(ENV, powers3.RULES)  # the same once more
    for taken, rules in ((ENV, PAINTED), (ENV, Rules(**GOOD)), ("Tiles2048-v0", Rules(**GOOD))):
        with pytest.raises(ValueError, match="is registered already, with other rules or colors"):
            register_game(taken, rules)


def test_rewards_of_a_move_are_bounded_by_the_board():
    rules = Rules(**GOOD | {"faces": (0, 1, 2, 2**30), "merges": [(2, 2, 3)], "goal": 2})
    for shape in ((1, 3), (3, 4)):
        SlidingGame(rules, shape)
    for shape in ((4, 4), (8, 8)):
        with pytest.raises(ValueError, match=f"pays {2**30}, .* for boards of {shape[0]}×"):
            SlidingGame(rules, shape)
    for env_id, side in product(("Tiles2048-v0", "Tiles2584-v0"), range(1, 9)):
        game = gym.make(env_id, shape=(8, side)).unwrapped.game
        assert 4 * side * game.rules.faces[-1] < 2**33
