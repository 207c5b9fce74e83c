"""Exact results: solved games, expected scores, regret, and questions for the best move."""

import json
import math
import re
from dataclasses import replace
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
from commands import command, typed
from covering import covering
from powers3 import RULES as POWERS3

from baselines import evaluate, evaluate_exactly, questions, regret
from baselines.agents import GreedyAgent, RandomAgent
from baselines.commands.solve import answers
from baselines.evaluation.exact import expected
from baselines.evaluation.policies import against, outcome, policy_of
from baselines.evaluation.sampled import play
from baselines.search.minimax import MinimaxAgent, MinimaxFirstAgent
from baselines.solver.boards import most_boards, start_boards
from baselines.solver.optimal import OptimalAgent
from baselines.solver.solve import Solution, solution_of, solve
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.sliding.rules import ACTIONS
from tile_envs.tictactoe import TicTacToe

# Exact values of 2584 on 2×3 as a course published them in 2017, tile 1 with 0.9 and 2 with 0.1.
PUBLISHED = """
b 2 2 0 0 0 0 = 1422.339261   b 0 0 0 0 2 2 = 1422.339261   a 2 2 0 0 0 0 = 1422.339261
a 0 0 0 0 2 2 = 1422.339261   b 2 0 2 0 0 0 = 1422.339262   a 2 0 2 0 0 0 = 1422.339262
b 0 0 0 0 4 2 = 1412.897933   a 0 0 0 0 4 2 = 1412.893618   b 0 0 0 0 0 0 = -1   a 0 0 0 0 0 0 = -1
b 0 0 0 1 0 0 = -1   a 2 0 0 0 0 0 = 1424.161828   a 2 2 2 2 2 2 = -1   b 1 1 1 1 1 1 = -1
b 33 32 31 30 29 28 = -1   a 24 4 18 3 0 0 = -1   b 7 12 4 10 4 2 = 0   a 4 2 5 7 12 0 = 0
b 8 5 6 2 3 2 = 1170.866621   a 5 1 6 0 12 0 = 316.0030443   a 1 0 0 0 0 0 = -1
b 1 1 0 0 0 1 = 1426.366089   a 1 1 0 0 0 1 = -1   a 1 1 0 0 1 1 = -1   a 1 0 0 0 0 1 = -1
a 2 0 0 0 0 1 = -1   a 0 0 0 0 1 2 = 1424.364258   a 1 1 1 0 0 1 = -1   a 10 0 0 0 0 1 = -1
"""

ENV, SMALL = "Tiles2048-v0", {"shape": [2, 3]}
GAME_2584 = SlidingGame(RULES_2584, (2, 3))
GAME_2048 = SlidingGame(RULES_2048, (2, 3))
TINY = [
    SlidingGame(RULES_2048, (2, 2)),
    SlidingGame(RULES_2584, (2, 2)),
    SlidingGame(POWERS3, (2, 2)),
    SlidingGame(RULES_2048, (2, 2), spawn={2: 0.5, 4: 0.3, 8: 0.2}, start_tiles=3),
    SlidingGame(RULES_2584, (2, 2), spawn={1: 0.75, 3: 0.25}, start_tiles=(1, 5)),
    SlidingGame(RULES_2048, (2, 2), placer="adversary"),
    SlidingGame(replace(POWERS3, goal=27), (2, 2), terminate_at_goal=True),
]


def by_recursion(game, goal=None):
    """Return the values of all states and afterstates by their bytes, and that of the start."""
    states, afterstates = {}, {}

    def after(board):
        if (key := board.tobytes()) not in afterstates:
            _, boards, probabilities = game.replies(board[None])
            afterstates[key] = probabilities @ [before(state) for state in boards]
        return afterstates[key]

    def before(board):
        if (key := board.tobytes()) not in states:
            (moved,), (rewards,), (masks,) = game.afterstates(board[None])
            actions, ended = np.flatnonzero(masks), 1.0 if goal and board.max() >= goal else 0.0
            values = [after(moved[i]) + (0.0 if goal else rewards[i]) for i in actions]
            states[key] = max(values, default=ended)
        return states[key]

    boards, mass = start_boards(game)
    return states, afterstates, mass @ [before(board) for board in boards]


@pytest.mark.parametrize("goal", [None, 4])
@pytest.mark.parametrize("game", TINY, ids=str)
def test_every_board_has_the_value_of_a_plain_recursion(game, goal):
    """The value is the expected score, or with a goal the best probability to reach that tile."""
    solution = solve(game, goal=goal and game.rules.faces[goal])
    if goal:
        rules = replace(game.rules, goal=game.rules.faces[goal])
        game = replace(game, rules=rules, terminate_at_goal=True)
    *known, start = by_recursion(game, goal)
    states, afterstates = (
        np.frombuffer(b"".join(each), np.uint8).reshape(-1, *game.shape) for each in known
    )
    values, of_afterstates = ([*each.values()] for each in known)
    assert solution.counts() == (len(states), len(afterstates))
    assert solution.state_values(states) == pytest.approx(values, rel=1e-12)
    assert solution.afterstate_values(afterstates) == pytest.approx(of_afterstates, rel=1e-12)
    best = solution.action_values(states).max(axis=1)
    assert np.where(np.isfinite(best), best, values) == pytest.approx(values)
    assert solution.start_value == pytest.approx(start)


def test_the_numbers_of_boards_are_the_published_ones():
    for game, states, merged, afterstates in (
        (TINY[0], 662, 110, 67),
        (GAME_2048, 85_844, 21_752, 14_883),
    ):
        solution = solution_of(game)
        assert (len(solution.states), len(solution.afterstates)) == (merged, afterstates)
        assert solution.counts()[0] == states


@pytest.mark.parametrize(
    "game", [*TINY, GAME_2048, GAME_2584, SlidingGame(RULES_2048, (3, 2))], ids=str
)
def test_no_state_has_a_bellman_residual(game):
    solution = solution_of(game)
    assert len(solution.afterstates) < len(solution.states) <= most_boards(game)
    boards = solution.states.boards(solution.game.shape)
    after, rewards, masks = game.afterstates(boards)
    after, legal = after.reshape(-1, *game.shape), masks.reshape(-1) > 0
    parents, states, probabilities = game.replies(after[legal])
    following = solution.state_values(states)
    expected_values = np.bincount(parents, probabilities * following)
    of_actions = np.full(len(legal), -np.inf)
    of_actions[legal] = rewards.reshape(-1)[legal] + expected_values
    best = of_actions.reshape(masks.shape).max(axis=1)
    best = np.where(masks.any(axis=1), best, 0.0)
    assert np.abs(best - solution.state_values(boards)).max() < 1e-9


def test_optimal_play_reaches_the_optimum_and_no_agent_more():
    for game in (*TINY, GAME_2048):
        optimum = solution_of(game).start_value
        assert expected(OptimalAgent(game), game).score == pytest.approx(optimum, rel=1e-12)
        for agent in (RandomAgent(game), GreedyAgent(game)):
            assert expected(agent, game).score < optimum


def test_boards_that_cannot_be_reached_have_no_value():
    solution = solution_of(GAME_2584)
    assert np.isnan(solution.state_values(np.zeros((1, 2, 3), np.uint8)))[0]
    asked = [f"b {tile} 1 0 0 0 0" for tile in (32, 100, 256, 10**30, "9" * 5000)]
    assert all(line.endswith(" = -1") for line in answers(solution, asked))
    assert [*answers(solution, ["", " ", "a 002 2 0 0 0 0 "])] == [
        "a 002 2 0 0 0 0 = 1422.339260970"
    ]
    for line in ("b 1 1 0", "a 1 1.5 0 0 0 0", "\x00\x07"):
        with pytest.raises(ValueError, match="line 2"):
            _ = [*answers(solution, ["b 1 1 0 0 0 0", line])]


def test_a_solution_is_saved_and_loaded_and_another_one_refused(tmp_path):
    solution, (kept, wrong) = solution_of(TINY[0]), (tmp_path / "kept", tmp_path / "wrong")
    states, keys = solution.states, solution.states.keys
    solution.save(kept)
    loaded, boards = Solution.load(kept, TINY[0]), solution.states.boards(solution.game.shape)
    assert np.array_equal(loaded.state_values(boards), solution.state_values(boards))
    replace(solution, states=replace(states, keys=keys[::-1].copy())).save(wrong)
    for call, named in (
        (lambda: Solution.load(kept, replace(TINY[0], spawn={2: 1.0})), "spawn"),
        (lambda: OptimalAgent(GAME_2048, solution=str(kept)), "is the solution of|at most"),
        (lambda: Solution.load(wrong, TINY[0]), "do not belong together"),
    ):
        with pytest.raises(ValueError, match=named):
            call()


def test_the_command_prints_the_published_probability():
    for goal, percent in ((16, 96.25), (32, 8.29), (4, 100), (2048, 0)):
        printed = typed("solve", "--shape", 2, 2, "--goal", goal)
        share = float(re.search(r"probability  (\d\.\d{6}) to reach", printed)[1])
        assert 100 * share == pytest.approx(percent, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "percent"), [(256, 99.571), (512, 73.68)])
def test_the_published_probabilities_on_3x3(goal, percent):
    solution = solve(SlidingGame(RULES_2048, (3, 3)), goal)
    assert 100 * solution.start_value == pytest.approx(percent, abs=0.005)


@pytest.mark.parametrize("make", [RandomAgent, GreedyAgent])
def test_the_expected_score_is_that_of_sampled_games(make):
    exact, n = expected(make(GAME_2048), GAME_2048), 40_000
    record = play(make(GAME_2048, seed=1), ENV, SMALL, n, seed=2)
    assert abs(record.returns.mean() - exact.score) < 4 * record.returns.std() / math.sqrt(n)
    assert record.moves / n == pytest.approx(exact.moves, rel=0.01)
    for tile, share in enumerate(exact.ended):
        sampled = (record.tiles == GAME_2048.rules.faces[tile]).mean()
        assert abs(sampled - share) < 4 * math.sqrt(share * (1 - share) / n) + 1e-4


MARKS = TicTacToe()
AGENTS = [RandomAgent, GreedyAgent, MinimaxAgent, MinimaxFirstAgent]


def test_known_pairings_come_out_exactly():
    for make, side, percent in (
        (RandomAgent, "X", (58.492, 12.698, 28.810)),
        (RandomAgent, "O", (28.810, 12.698, 58.492)),
        (MinimaxAgent, "X", (96.781, 3.219, 0)),
        (MinimaxAgent, "O", (77.748, 22.252, 0)),
    ):
        results = against(policy_of(make(MARKS), side), side)
        assert [100 * share for share in results] == pytest.approx(percent, abs=0.0005)
        assert results.worst == (-1 if make is RandomAgent else 0)
    for x, o in product(AGENTS[2:], AGENTS[2:]):
        shares = outcome(policy_of(x(MARKS), "X"), policy_of(o(MARKS), "O"))
        assert shares == pytest.approx((0, 1, 0))


MIXED = {"minimax": 0.5, "random": 0.3, "minimax_first": 0.2}


@pytest.mark.parametrize(
    ("make", "side", "opponent"), covering(2, AGENTS, MARKS.sides, ("random", "minimax", MIXED))
)
def test_exact_results_are_those_of_sampled_games(make, side, opponent):
    options = {"side": side, "opponent": opponent}
    exact = evaluate_exactly(make(MARKS), "TicTacToe-v0", options)
    row = evaluate(make(MARKS, seed=1), "TicTacToe-v0", options, episodes=4000, seed=2)
    for name in ("win", "draw", "loss"):
        error = (exact[name] * (1 - exact[name]) / 4000) ** 0.5
        assert abs(row[name] - exact[name]) <= 4 * error + 1e-9


def test_the_regret_is_what_the_moves_lose_one_by_one():
    optimal = regret("optimal", gym.make(ENV, shape=(2, 3)))
    assert (optimal["agent"], optimal["regret"]) == ("optimal", pytest.approx(0, abs=1e-8))
    assert np.nanmax(optimal["losses"]) < 1e-9
    row = regret(GreedyAgent(GAME_2048), ENV, SMALL)
    exact = evaluate_exactly(GreedyAgent(GAME_2048), ENV, SMALL)
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


@pytest.mark.parametrize("goal", [None, 32])
def test_questions_have_the_values_of_the_solution(goal):
    asked, again, others = (
        questions(ENV, 20, seed, {"shape": (2, 2)}, goal=goal) for seed in (3, 3, 4)
    )
    assert asked == again != others
    game, solution, seen = TINY[0], solve(TINY[0], goal), set()
    for question in asked:
        board = np.searchsorted(game.rules.faces, question["board"]).astype(np.uint8)
        values = solution.action_values([board])[0]
        legal = {n: v for n, v in zip(ACTIONS, values, strict=True) if v > -np.inf}
        best, worst = max(legal.values()), min(legal.values())
        assert question["values"] == pytest.approx(legal)
        assert question["best"] == [name for name in legal if legal[name] > best - 1e-9]
        grades = {name: (value - worst) / (best - worst) for name, value in legal.items()}
        assert question["grades"] == pytest.approx(grades)
        seen.add(min(board.ravel()[image].tobytes() for image in game.symmetries.cells))
    assert len(seen) == 20


OF_2584 = ("--env", "Tiles2584-v0")
SOLVE = ("solve", *OF_2584, "--shape", 2, 3)


def test_the_command_prints_the_solution_and_questions(tmp_path):
    for _ in range(2):  # the second time it is read
        printed = typed(*SOLVE, "--out", tmp_path / "solution")
        assert "815,828 (205,011 up to symmetry)" in printed
        assert "525,758 (131,830 up to symmetry)" in printed
        assert "1,425.817560927" in printed
    kept = json.dumps({"solution": str(tmp_path / "solution")})
    asked = (*OF_2584, "--env-kwargs", json.dumps(SMALL), "--agent-kwargs", kept)
    assert "100.000% of the optimum" in typed("evaluate", "optimal", *asked, "--exact")
    printed = typed("solve", "--shape", 2, 2, "--questions", 5, "--seed", 3)
    asked = [json.loads(line) for line in printed.splitlines()]
    assert asked == questions(ENV, 5, 3, {"shape": (2, 2)})


def test_queries_are_answered_line_by_line_with_the_published_values(tmp_path):
    queries, published = zip(*re.findall(r"([ab][ \d]+) = (\S+)", PUBLISHED), strict=True)
    assert len(queries) == 29
    path = tmp_path / "queries.txt"
    path.write_text("\n".join(queries) + "\n", encoding="utf-8-sig")
    done = command(*SOLVE, "--query", path)
    assert "queries hold tile indices, not faces" in done.stderr  # 33 is no index
    answered = done.stdout.splitlines()
    assert answered[0] == "b 2 2 0 0 0 0 = 1422.339260970"
    assert answered[8] == "b 0 0 0 0 0 0 = -1"
    asked, values = zip(*(line.split(" = ") for line in answered), strict=True)
    assert asked == queries
    assert [*map(float, values)] == pytest.approx([*map(float, published)], abs=0.001)
