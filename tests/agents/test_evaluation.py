"""Sampled evaluation, and the agents that need no training."""

import re
import signal
from itertools import product
from unittest import mock

import gymnasium as gym
import numpy as np
import pytest
from commands import refused, typed
from players import FIRST_LEGAL, LOWEST, FirstLegal, Interrupting, Stubborn
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO

from baselines import evaluate, evaluate_exactly, judge, load, solve
from baselines import seeds as streams
from baselines.agents import GreedyAgent, RandomAgent
from baselines.evaluation.parts import in_parts
from baselines.evaluation.rows import read_rows
from baselines.evaluation.sampled import Stopped, play
from tile_envs.base.random_stream import consecutive
from tile_envs.plug.sb3 import make_sb3
from tile_envs.sliding import Rules, register_game

IDS = ("Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0")
TILES, MARKS = (gym.make(env_id).unwrapped.game for env_id in IDS[::2])


@pytest.mark.parametrize("env_id", IDS)
def test_the_listed_games_are_played_and_no_others_however_many_at_once(env_id):
    """Game by game, single environments seeded from the list give the same scores."""
    env, returns, moves = gym.make(env_id), [], 0
    for seed in streams.game_seeds(4, 30).tolist():
        _, info = env.reset(seed=seed)
        total, terminated = 0.0, False
        while not terminated:
            _, reward, terminated, _, info = env.step(int(info["action_mask"].argmax()))
            total, moves = total + reward, moves + 1
        returns.append(total)
    few = FirstLegal()
    few.games_at_once = 3
    for agent in (LOWEST, few):
        record = play(agent, env_id, episodes=30, seed=4)
        assert (record.returns.tolist(), record.moves) == (returns, moves)


def test_training_tests_recording_and_evaluation_share_no_game():
    assert np.array_equal(streams.game_seeds(3, 10), streams.game_seeds(3, 1000)[:10])
    long = (2**32, 2**32 + 5, 2**33 + 5, 5 * 2**32 + 1, 2**64 - 1, 2**64 + 5, 2**96 + 5)
    seeds, kinds = (*range(20), *long), ("evaluation", "test", "recording")
    uses = [streams.game_seeds(seed, 5_000, kind) for seed in seeds for kind in kinds]
    for seed, use in product(seeds, ("updates", "questions")):
        uses.append(streams.seed_sequence(seed, use, 3).generate_state(3, np.uint64))
    for part in product(seeds, range(20), (0, 1, 5)):
        uses.append(streams.training_seeds(streams.training_generator(*part), 100))
    uses += [consecutive(streams.training_stream(seed), 1_000) for seed in seeds]
    drawn = np.concatenate(uses)
    assert len(np.unique(drawn)) == len(drawn)


def test_training_and_evaluation_draw_what_they_always_drew():
    assert streams.game_seeds(0, 2).tolist() == [16294208416658607535, 7960286522194355700]
    drawn = streams.training_seeds(streams.training_generator(3, 7), 2).tolist()
    assert drawn == [12584920505081419742, 11070588744321550203]
    assert streams.training_stream(5) == 8358621779662373210


def test_the_greedy_agent_takes_the_highest_reward():
    board = np.array([[[1, 1, 0, 0], [3, 0, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0]]])
    assert GreedyAgent(TILES).action_probabilities(board).tolist() == [[0.5, 0, 0.5, 0]]


def test_models_of_stable_baselines_are_evaluated():
    env, small = gym.make("TicTacToe-v0"), {"n_steps": 16, "batch_size": 16, "seed": 0}
    row = evaluate(MaskablePPO("MlpPolicy", env, **small), "TicTacToe-v0", episodes=40)
    assert row["agent"] == "MaskablePPO"
    assert row["win"] + row["draw"] + row["loss"] == pytest.approx(1)
    unmasked = PPO("MlpPolicy", env, **small)
    assert len(play(unmasked, "TicTacToe-v0", {"max_illegal": 2}, episodes=20).returns) == 20


@mock.patch.dict(gym.registry)  # the id is another test's to take
def test_a_tile_that_shrank_again_was_reached():
    merges = [(1, 1, 2), (2, 2, 3), (3, 1, 1), (1, 3, 1)]
    register_game("Shrinking-v0", Rules("Shrinking", (0, 2, 4, 8), merges, {2: 1.0}, 8))
    options, largest = {"shape": (2, 2)}, []
    env = gym.make("Shrinking-v0", **options)
    for seed in streams.game_seeds(0, 200).tolist():
        _, info = env.reset(seed=seed)
        largest.append(info["max_tile"])
        while info["action_mask"].any():
            *_, info = env.step(int(info["action_mask"].argmax()))
            largest[-1] = max(largest[-1], info["max_tile"])
    assert play(LOWEST, "Shrinking-v0", options, episodes=200).tiles.tolist() == largest
    row = judge(FIRST_LEGAL, "Shrinking-v0", 50, seconds=60, env_kwargs=options)
    assert row["reach"] == evaluate(LOWEST, "Shrinking-v0", options, 50)["reach"]


def test_an_environment_stands_for_its_id_and_options():
    env, envs = (make("Tiles2584-v0", shape=(2, 2)) for make in (gym.make, gym.make_vec))
    game, options = env.unwrapped.game, {"shape": (2, 2)}
    calls = (LOWEST, "Tiles2584-v0", options), (LOWEST, env), (FirstLegal, envs)
    rows = [evaluate(*call, episodes=20) | {"moves_per_second": 1} for call in calls]
    assert rows[0] == rows[1] == rows[2]
    assert evaluate_exactly(LOWEST, env)["env_kwargs"] == options
    assert solve(env).game == make_sb3(envs).games.game == game
    assert repr(load("random", env)) == "RandomAgent(2584 on 2×2)"


def test_a_row_sums_its_record_up():
    row = evaluate(LOWEST, "Tiles2048-v0", episodes=400, seed=3)
    record = play(LOWEST, "Tiles2048-v0", episodes=400, seed=3)
    error = record.returns.std() / 20
    assert row["low"] == pytest.approx(record.returns.mean() - 1.96 * error, abs=15)
    assert (row["min"], row["max"]) == (record.returns.min(), record.returns.max())
    assert row["reach"] == {face: (record.tiles >= face).mean() for face in row["reach"]}
    assert evaluate(LOWEST, "Tiles2048-v0", episodes=1)["low"] is None


def test_rows_are_made_in_parts_and_joined_bit_for_bit(tmp_path):
    said = "evaluate", "players:FirstLegal", "--env", IDS[0], "--seed", 3, "--episodes", 50
    whole, joined, *parts = (tmp_path / f"{name}.csv" for name in ("whole", "joined", *"ab"))
    typed(*said, "--out", whole)
    typed(*said, "--to", 30, "--out", parts[0])
    typed(*said, "--from", 30, "--out", parts[1])
    printed = typed("evaluate", "--join", *parts[::-1], "--out", joined)
    (one,), (other,) = map(read_rows, (whole, joined))
    for row in (one, other):
        del row["moves_per_second"]
    assert one == other
    assert "50 games, seed 3" in printed
    wrong = {
        ("--join", parts[1]): "games 0 to 29 of FirstLegal on Tiles2048-v0 are missing",
        ("--join", *parts, parts[0]): "games 0 to 29 .* come twice",
        ("--join", whole): f"{whole} has no parts",
        ("--join", parts[0], "--seed", 3, "random"): "leave out random",
        ("random", "--from", 5, "--to", 5, "--out", joined): "--from must be below --to, got 5",
        ("random", "--from", 5): "need --out FILE.csv",
    }
    for given, error in wrong.items():
        assert re.search(error, refused("evaluate", *given))


def test_a_list_of_games_goes_on_after_the_parts_that_were_kept(tmp_path):
    game, file, firsts = gym.make(IDS[0]).unwrapped.game, tmp_path / "parts.csv", []

    def played(episodes, first=0):
        firsts.append(first)
        assert firsts != [0, 20, 40]
        return play(LOWEST, IDS[0], episodes=episodes, first=first)

    with pytest.raises(AssertionError):
        in_parts(played, game, 50, 20, file)
    whole, joined = played(50), in_parts(played, game, 50, 20, file)
    assert firsts[3:] == [0, 40]
    assert np.array_equal(joined.returns, whole.returns)
    assert (joined.moves, file.exists()) == (whole.moves, False)


@pytest.mark.parametrize(("side", "win"), [("X", 0.58492), ("random", 0.43651), ("both", 0.58492)])
def test_sides_are_judged_from_their_own_point_of_view(side, win):
    row = evaluate(RandomAgent(MARKS, seed=1), "TicTacToe-v0", {"side": side}, episodes=4000)
    assert (row["side"], row["mean"]) == (side, pytest.approx(row["win"] - row["loss"]))
    assert (row["win"], row["draw"]) == pytest.approx((win, 0.12698), abs=0.035)


def test_a_truncated_game_is_a_loss_and_illegal_actions_are_told(capsys):
    row = evaluate(Stubborn(0), "TicTacToe-v0", {"max_illegal": 3}, episodes=50)
    assert (row["draw"], row["loss"]) == (0, 1)
    assert re.search(r"Stubborn: \d+ of \d+ actions were illegal", capsys.readouterr().err)


def test_an_interrupted_evaluation_counts_the_first_games_that_have_all_ended(monkeypatch):
    monkeypatch.setattr("baselines.evaluation.sampled.N_ENVS", 8)
    whole = play(RandomAgent(TILES), "Tiles2048-v0", episodes=40, seed=5)
    with pytest.raises(Stopped) as stopped:
        evaluate(Interrupting(TILES, 300), "Tiles2048-v0", episodes=40, seed=5, name="r")
    record, row = stopped.value.record, stopped.value.row
    assert 8 <= row["episodes"] < 40
    assert np.array_equal(record.returns, whole.returns[: row["episodes"]])
    assert (row["agent"], stopped.value.number) == ("r, stopped", signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="one of the first 8 is still on"):
        evaluate(Interrupting(TILES, 90), "Tiles2048-v0", episodes=40)
