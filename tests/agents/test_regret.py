"""Regret against optimal play, and questions for the best move: ground truth on small boards."""

import json

import gymnasium as gym
import numpy as np
import pytest
from commands import typed

from baselines import evaluate_exactly, questions, regret, solve
from baselines.agents import GreedyAgent
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.sliding.rules import ACTIONS

ENV, SMALL = "Tiles2584-v0", {"shape": [2, 3]}
GAME = SlidingGame(RULES_2584, (2, 3))


def test_the_regret_is_what_the_moves_lose_one_by_one():
    row = regret(GreedyAgent(GAME), ENV, SMALL)
    exact = evaluate_exactly(GreedyAgent(GAME), ENV, SMALL)
    assert row["mean"] == exact["mean"]
    assert row["regret"] == pytest.approx(row["optimum"] - row["mean"], abs=1e-8)
    assert row["mean"] / row["optimum"] == pytest.approx(exact["share"], abs=1e-8)
    lost = row["chances"][:, None] * row["policy"] * np.nan_to_num(row["losses"])
    assert lost.sum() == pytest.approx(row["regret"], rel=1e-9)
    assert np.nanmin(row["losses"]) > -1e-9
    played = row["policy"] > 0
    assert (np.isnan(row["losses"]) == ~played).all()
    assert played.any(axis=1).all()
    assert len(np.unique(row["boards"].reshape(-1, 6), axis=0)) == len(row["boards"]) > 1000
    assert row["chances"].sum() == pytest.approx(exact["moves"])


def test_optimal_play_has_no_regret_and_agents_have_names():
    row = regret("optimal", gym.make(ENV, shape=(2, 3)))
    assert (row["agent"], row["regret"]) == ("optimal", pytest.approx(0, abs=1e-8))
    assert np.nanmax(row["losses"]) < 1e-9


@pytest.mark.parametrize("goal", [None, 32])
def test_questions_have_the_values_of_the_solution(goal):
    asked, again, others = (
        questions("Tiles2048-v0", 20, seed, {"shape": (2, 2)}, goal=goal) for seed in (3, 3, 4)
    )
    assert asked == again != others
    game = SlidingGame(RULES_2048, (2, 2))
    solution, seen = solve(game, goal), set()
    for question in asked:
        board = np.searchsorted(game.rules.faces, question["board"]).astype(np.uint8)
        values = solution.action_values([board])[0]
        legal = {n: v for n, v in zip(ACTIONS, values, strict=True) if v > -np.inf}
        best, worst = max(legal.values()), min(legal.values())
        assert question["values"] == pytest.approx(legal)
        assert question["best"] == [name for name in legal if legal[name] > best - 1e-9]
        assert question["grades"] == pytest.approx(
            {name: (value - worst) / (best - worst) for name, value in legal.items()}
        )
        seen.add(min(board.ravel()[image].tobytes() for image in game.symmetries.cells))
    assert len(seen) == 20


def test_the_command_writes_questions_as_lines_of_json():
    printed = typed("solve", "--shape", 2, 2, "--questions", 5, "--seed", 3)
    asked = [json.loads(line) for line in printed.splitlines()]
    assert asked == questions("Tiles2048-v0", 5, 3, {"shape": (2, 2)})
