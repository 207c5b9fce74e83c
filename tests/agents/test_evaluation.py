"""Sampled evaluation, and the agents that need no training."""

import json
import re
import signal
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from commands import typed
from players import Interrupting, Scripted, Stubborn
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

from baselines import evaluate, evaluate_exactly, load, solve, train
from baselines.agents import GreedyAgent, RandomAgent, Task
from baselines.evaluation.rows import block, read_rows
from baselines.evaluation.sampled import Stopped, play
from baselines.search.expectimax import Expectimax
from baselines.search.placing import ValuePlacer
from baselines.seeds import game_seeds, training_generator, training_seeds, training_stream
from tile_envs.base.random_stream import consecutive
from tile_envs.errors import UsageError
from tile_envs.plug.sb3 import make_sb3
from tile_envs.sliding import Rules, register_game

IDS = ["Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"]
every_id = pytest.mark.parametrize("env_id", IDS)
KEYS = [
    *("agent", "env", "env_kwargs", "side", "episodes", "seed", "mean", "low", "high"),
    *("interval_method", "median", "min", "max", "quantiles", "reach", "fraction_intervals"),
    "moves_per_second",
]


def game_of(env_id):
    return gym.make(env_id).unwrapped.game


@every_id
def test_the_listed_games_are_played_and_no_others(env_id):
    """Game by game, single environments seeded from the list give the same scores."""
    env = gym.make(env_id)
    record = play(Scripted(env.unwrapped.game), env_id, episodes=30, seed=4)
    returns, moves = [], 0
    for seed in game_seeds(4, 30).tolist():
        _, info = env.reset(seed=seed)
        total, terminated = 0.0, False
        while not terminated:
            _, reward, terminated, _, info = env.step(int(info["action_mask"].argmax()))
            total, moves = total + reward, moves + 1
        returns.append(total)
    assert record.returns.tolist() == returns
    assert record.moves == moves


@every_id
def test_how_many_games_are_played_at_once_changes_nothing(env_id, monkeypatch):
    agent = Scripted(game_of(env_id))
    wide = play(agent, env_id, episodes=50, seed=1)
    monkeypatch.setattr("baselines.evaluation.sampled.N_ENVS", 7)
    narrow = play(agent, env_id, episodes=50, seed=1)
    assert np.array_equal(wide.returns, narrow.returns)
    assert np.array_equal(wide.tiles, narrow.tiles)
    assert wide.moves == narrow.moves
    agent.games_at_once = 3
    assert evaluate(agent, env_id, episodes=50, seed=1)["mean"] == wide.returns.mean()
    agent.games_at_once = 0
    with pytest.raises(UsageError, match="games_at_once"):
        evaluate(agent, env_id, episodes=5)


USES = ("evaluation", "test", "recording")


def test_training_tests_recording_and_evaluation_share_no_game():
    assert np.array_equal(game_seeds(3, 10), game_seeds(3, 1000)[:10])
    seeds = (*range(20), 1 << 32, (1 << 64) - 1)
    uses = [game_seeds(seed, 5_000, use) for seed in seeds for use in USES]
    parts = [(seed, i, part) for seed in range(10) for i in range(20) for part in (0, 1)]
    uses += [training_seeds(training_generator(*part), 100) for part in parts]
    uses += [consecutive(training_stream(seed), 1_000) for seed in seeds]
    drawn = np.concatenate(uses)
    assert len(np.unique(drawn)) == len(drawn)


def test_training_and_evaluation_draw_what_they_always_drew():
    assert game_seeds(0, 2).tolist() == [16294208416658607535, 7960286522194355700]
    drawn = training_seeds(training_generator(3, 7), 2).tolist()
    assert drawn == [12584920505081419742, 11070588744321550203]
    assert training_stream(5) == 8358621779662373210


@every_id
@pytest.mark.parametrize("make", [RandomAgent, GreedyAgent])
def test_agents_play_legal_actions_with_the_probabilities_they_name(env_id, make):
    agent = make(game_of(env_id), seed=0)
    envs = gym.make_vec(env_id, num_envs=50)
    observations, infos = envs.reset(seed=0)
    for _ in range(20):
        masks = infos["action_mask"].astype(bool)
        alive = masks.any(axis=1)
        chances = agent.action_probabilities(observations)
        assert np.allclose(chances.sum(axis=1), alive)
        assert (chances[~masks] == 0).all()
        actions, _ = agent.predict(observations)
        assert (chances[np.arange(50), actions] > 0)[alive].all()
        observations, *_, infos = envs.step(actions)


def test_the_greedy_agent_takes_the_highest_reward():
    board = np.array([[[1, 1, 0, 0], [3, 0, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0]]])
    agent = GreedyAgent(game_of("Tiles2048-v0"))
    assert agent.action_probabilities(board).tolist() == [[0.5, 0, 0.5, 0]]
    winning = np.array([[[1, 1, 0], [-1, -1, 0], [0, 0, 0]]])
    agent = GreedyAgent(game_of("TicTacToe-v0"))
    assert agent.action_probabilities(winning).argmax() == 2


def test_stable_baselines_evaluates_our_agents_and_we_its_models():
    envs = make_vec_env("TicTacToe-v0", n_envs=4, seed=0)
    mean, _ = evaluate_policy(RandomAgent(game_of("TicTacToe-v0")), envs, n_eval_episodes=200)
    assert 0.1 < mean < 0.5
    env = gym.make("TicTacToe-v0")
    masked = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, seed=0)
    assert masked.predict(np.zeros((5, 3, 3), np.int8))[0].shape == (5,)
    row = evaluate(masked, "TicTacToe-v0", episodes=40)
    assert row["agent"] == "MaskablePPO"
    assert row["win"] + row["draw"] + row["loss"] == pytest.approx(1)
    unmasked = PPO("MlpPolicy", env, n_steps=16, batch_size=16, seed=0)
    record = play(unmasked, "TicTacToe-v0", {"max_illegal": 2}, episodes=20)
    assert len(record.returns) == 20


def test_a_tile_that_shrank_again_was_reached(registering):
    merges = [(1, 1, 2), (2, 2, 3), (3, 1, 1), (1, 3, 1)]
    register_game("Shrinking-v0", Rules("Shrinking", (0, 2, 4, 8), merges, {2: 1.0}, 8))
    env, largest = gym.make("Shrinking-v0", shape=(2, 2)), []
    game = env.unwrapped.game
    for seed in game_seeds(0, 200).tolist():
        _, info = env.reset(seed=seed)
        largest.append(info["max_tile"])
        while info["action_mask"].any():
            *_, info = env.step(int(info["action_mask"].argmax()))
            largest[-1] = max(largest[-1], info["max_tile"])
    record = play(Scripted(game), "Shrinking-v0", {"shape": (2, 2)}, episodes=200)
    assert record.tiles.tolist() == largest != game.faces(record.boards).max(axis=(1, 2)).tolist()


def test_an_agent_of_another_game_is_refused():
    agent, other = Scripted(game_of("Tiles2048-v0")), game_of("Tiles2584-v0")
    agent.action_values = None
    for call in (
        partial(evaluate, agent, "Tiles2584-v0"),
        partial(evaluate, RandomAgent(agent.game), "TicTacToe-v0"),
        partial(evaluate_exactly, agent, "Tiles2048-v0", {"shape": (2, 2)}),
        partial(Expectimax, agent, other),
        partial(ValuePlacer, agent, other),
    ):
        with pytest.raises(UsageError, match=r"plays 2048 on 4×4, not .*: take an agent of"):
            call()
    evaluate(agent, "Tiles2048-v0", {"spawn": {4: 1.0}, "placer": "adversary"}, episodes=1)


def test_an_environment_stands_for_its_id_and_options():
    env, envs = (make("Tiles2584-v0", shape=(2, 2)) for make in (gym.make, gym.make_vec))
    agent, options, game = Scripted(env.unwrapped.game), {"shape": (2, 2)}, env.unwrapped.game
    calls = (agent, "Tiles2584-v0", options), (agent, env), (Scripted, envs)
    rows = [evaluate(*call, episodes=20) | {"moves_per_second": 1} for call in calls]
    assert rows[0] == rows[1] == rows[2]
    row = evaluate_exactly(agent, env)
    assert (str(row), row["env_kwargs"]) == (block(row), options)
    assert repr(load("random", env)) == "RandomAgent(2584 on 2×2)"
    assert repr(train("qtable", envs, games=1_000)) == "QTable(2584 on 2×2, 1,000 games)"
    with_options = make_sb3("Tiles2584-v0", env_kwargs=options)
    assert solve(env).game == make_sb3(envs).games.game == with_options.games.game == game


def test_a_row_sums_its_record_up():
    agent = RandomAgent(game_of("Tiles2048-v0"))
    row = evaluate(agent, "Tiles2048-v0", episodes=400, seed=3, name="random")
    record = play(RandomAgent(game_of("Tiles2048-v0")), "Tiles2048-v0", episodes=400, seed=3)
    assert list(row) == KEYS
    assert row["low"] < row["mean"] < row["high"]
    error = record.returns.std() / 20
    assert row["low"] == pytest.approx(record.returns.mean() - 1.96 * error, abs=15)
    assert (row["min"], row["max"]) == (record.returns.min(), record.returns.max())
    for face, share in row["reach"].items():
        assert share == (record.tiles >= face).mean()
    alone = evaluate(agent, "Tiles2048-v0", episodes=1)
    assert alone["low"] is None
    assert "interval" not in block(alone)


@pytest.mark.parametrize(("side", "win"), [("X", 0.58492), ("random", 0.43651), ("both", 0.58492)])
def test_sides_are_judged_from_their_own_point_of_view(side, win):
    agent = RandomAgent(game_of("TicTacToe-v0"), seed=1)
    row = evaluate(agent, "TicTacToe-v0", {"side": side}, episodes=4000)
    assert (row["side"], row["mean"]) == (side, pytest.approx(row["win"] - row["loss"]))
    assert (row["win"], row["draw"]) == pytest.approx((win, 0.12698), abs=0.035)


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_the_command_writes_rows(tmp_path, suffix):
    out = tmp_path / f"rows.{suffix}"
    out.write_text("replaced")
    options = '{"shape": [2, 3]}'
    arguments = ("evaluate", "random", "--episodes", 60, "--env-kwargs", options, "--out", out)
    printed = typed(*arguments)
    assert "random on Tiles2048-v0" in printed
    if suffix == "json":
        (row,) = json.loads(out.read_text())
    else:
        (row,) = read_rows(out)
        row |= {key: json.loads(row[key]) for key in ("env_kwargs", "reach", "mean")}
    noted = ["train_seed", "budget", "settings", "path", "versions", "date"]
    assert list(row) == [*KEYS, "interval_of", *noted]
    assert row["env_kwargs"] == {"shape": [2, 3]}
    assert row["reach"]["8"] > 0.5
    lines = zip(printed.splitlines(), typed(*arguments).splitlines(), strict=True)
    assert all(line == again or "a second" in line for line, again in lines)


def test_a_truncated_game_is_a_loss():
    row = evaluate(Stubborn(0), "TicTacToe-v0", {"max_illegal": 3}, episodes=50)
    assert (row["draw"], row["loss"]) == (0, 1)


@pytest.mark.parametrize("answer", [2.9, 9, -1])
def test_answers_that_are_no_actions_are_refused(answer):
    with pytest.raises(ValueError, match="actions must be"):
        play(Stubborn(answer), "TicTacToe-v0", episodes=5)


def test_an_interrupted_evaluation_counts_the_first_games_that_have_all_ended():
    game = gym.make("Tiles2048-v0").unwrapped.game
    whole = play(RandomAgent(game), "Tiles2048-v0", episodes=40, seed=5)
    with pytest.raises(Stopped) as stopped:
        evaluate(Interrupting(game, 130), "Tiles2048-v0", episodes=40, seed=5, name="r")
    record, row = stopped.value.record, stopped.value.row
    assert 0 < len(record.returns) < 40
    assert row["episodes"] == len(record.returns)
    assert np.array_equal(record.returns, whole.returns[: row["episodes"]])
    assert row["agent"] == "r, stopped"
    assert stopped.value.number == signal.SIGINT
    with pytest.raises(KeyboardInterrupt) as early:
        evaluate(Interrupting(game, 3), "Tiles2048-v0", episodes=40)
    assert not isinstance(early.value, Stopped)
    assert "the very first is still on (" in str(early.value)


def test_illegal_actions_are_told(capsys):
    evaluate(Stubborn(0), "Tiles2048-v0", {"max_illegal": 5}, episodes=3)
    assert re.search(r"Stubborn: \d+ of \d+ actions were illegal", capsys.readouterr().err)
    evaluate(GreedyAgent(Task.of("Tiles2048-v0").game), "Tiles2048-v0", episodes=3)
    assert "illegal" not in capsys.readouterr().err
