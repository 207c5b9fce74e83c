"""The solver of small sliding games: published values, brute force, laws of optimal play."""

import dataclasses
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from commands import command, typed
from oracle import merge_2048, merge_2584, move
from powers3 import RULES as POWERS3

from baselines.agents import GreedyAgent, RandomAgent
from baselines.commands.solve import answers
from baselines.evaluation.exact import expected
from baselines.evaluation.sampled import play
from baselines.search.expectimax import Expectimax
from baselines.solver.boards import most_boards, start_boards, tile_ages
from baselines.solver.optimal import OptimalAgent
from baselines.solver.solve import Solution, solution_of, solve
from tile_envs.sliding import RULES_2048, RULES_2584, Rules, SlidingGame

# Exact values of 2584 on 2×3 as a course published them in 2017, tile 1 with 0.9 and 2 with 0.1.
PUBLISHED = """\
b 2 2 0 0 0 0 = 1422.339261
b 0 0 0 0 2 2 = 1422.339261
a 2 2 0 0 0 0 = 1422.339261
a 0 0 0 0 2 2 = 1422.339261
b 2 0 2 0 0 0 = 1422.339262
a 2 0 2 0 0 0 = 1422.339262
b 0 0 0 0 4 2 = 1412.897933
a 0 0 0 0 4 2 = 1412.893618
b 0 0 0 0 0 0 = -1
a 0 0 0 0 0 0 = -1
b 0 0 0 1 0 0 = -1
a 2 0 0 0 0 0 = 1424.161828
a 2 2 2 2 2 2 = -1
b 1 1 1 1 1 1 = -1
b 33 32 31 30 29 28 = -1
a 24 4 18 3 0 0 = -1
b 7 12 4 10 4 2 = 0
a 4 2 5 7 12 0 = 0
b 8 5 6 2 3 2 = 1170.866621
a 5 1 6 0 12 0 = 316.0030443
a 1 0 0 0 0 0 = -1
b 1 1 0 0 0 1 = 1426.366089
a 1 1 0 0 0 1 = -1
a 1 1 0 0 1 1 = -1
a 1 0 0 0 0 1 = -1
a 2 0 0 0 0 1 = -1
a 0 0 0 0 1 2 = 1424.364258
a 1 1 1 0 0 1 = -1
a 10 0 0 0 0 1 = -1
""".splitlines()

GAME_2584 = SlidingGame(RULES_2584, (2, 3))
GAME_2048 = SlidingGame(RULES_2048, (2, 3))
TINY = [
    SlidingGame(RULES_2048, (2, 2)),
    SlidingGame(RULES_2584, (2, 2)),
    SlidingGame(POWERS3, (2, 2)),
    SlidingGame(RULES_2048, (2, 2), spawn={2: 0.5, 4: 0.3, 8: 0.2}, start_tiles=3),
    SlidingGame(RULES_2584, (2, 2), spawn={1: 0.75, 3: 0.25}, start_tiles=(1, 5)),
    SlidingGame(RULES_2048, (2, 2), placer="adversary"),
    SlidingGame(dataclasses.replace(POWERS3, goal=27), (2, 2), terminate_at_goal=True),
]
MERGES = {"2048": merge_2048, "2584": merge_2584, "Powers3": lambda a, b: 3 * a if a == b else 0}


def brute_force(game):
    """Return the values of all reachable boards of faces, by recursion over the plain rules."""
    merge = MERGES[game.name]
    states, afterstates = {}, {}

    def placed(board, face):
        for r, row in enumerate(board):
            for c, taken in enumerate(row):
                if not taken:
                    yield (*board[:r], (*row[:c], face, *row[c + 1 :]), *board[r + 1 :])

    def moves(board):
        if game.terminate_at_goal and max(map(max, board)) >= game.rules.goal:
            return
        for action in range(4):
            moved, reward = move([list(row) for row in board], action, merge)
            moved = tuple(map(tuple, moved))
            if moved != board:
                yield moved, reward

    def following(board, face):
        options = list(placed(board, face))
        if game.placer == "random":
            return options
        left = [
            max(
                (reward + sum(row.count(0) for row in to) for to, reward in moves(option)),
                default=-1,
            )
            for option in options
        ]
        return [option for option, value in zip(options, left, strict=True) if value == min(left)]

    def after(board):
        if board not in afterstates:
            afterstates[board] = sum(
                p * np.mean([before(state) for state in following(board, face)])
                for face, p in game.spawn
            )
        return afterstates[board]

    def before(board):
        if board not in states:
            states[board] = max((reward + after(to) for to, reward in moves(board)), default=0.0)
        return states[board]

    boards, mass = start_boards(game)
    faces = np.array(game.rules.faces)
    start = [before(tuple(map(tuple, faces[board].tolist()))) for board in boards]
    return states, afterstates, float(mass @ start)


@pytest.mark.parametrize("game", TINY, ids=str)
def test_every_board_has_the_value_of_a_plain_recursion(game):
    solution = solve(game)
    states, afterstates, start = brute_force(game)
    assert solution.counts() == (len(states), len(afterstates))
    for values, known in (
        (solution.state_values, states),
        (solution.afterstate_values, afterstates),
    ):
        faces = list(game.rules.faces)
        boards = [[[faces.index(face) for face in row] for row in board] for board in known]
        assert values(np.array(boards)) == pytest.approx(list(known.values()), rel=1e-12)
    assert solution.start_value == pytest.approx(start)


@pytest.mark.parametrize(
    ("game", "states", "merged", "afterstates"),
    [(TINY[0], 662, 110, 67), (GAME_2048, 85_844, 21_752, 14_883)],
    ids=str,
)
def test_the_numbers_of_boards_are_the_published_ones(game, states, merged, afterstates):
    solution = solution_of(game)
    assert (len(solution.states), len(solution.afterstates)) == (merged, afterstates)
    assert solution.counts()[0] == states


def reachable(solution):
    """Return all states of a solution, one of each symmetry class, as boards."""
    width = solution.game.shape[1]
    cells = math.prod(solution.game.shape)
    shifts = np.uint64(5) * np.arange(cells, dtype=np.uint64)
    tiles = (solution.states.keys[:, None] >> shifts & np.uint64(31)).astype(np.uint8)
    return tiles.reshape(len(tiles), -1, width)


@pytest.mark.parametrize("game", [*TINY, GAME_2048, GAME_2584], ids=str)
def test_no_state_has_a_bellman_residual(game):
    solution = solution_of(game)
    boards = reachable(solution)
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


def test_a_turned_board_has_the_same_values():
    upright = solution_of(SlidingGame(RULES_2584, (3, 2)))
    boards = reachable(solution_of(GAME_2584))[::11]
    turned = upright.state_values(boards.transpose(0, 2, 1))
    assert turned == pytest.approx(solution_of(GAME_2584).state_values(boards), rel=1e-12)


def test_optimal_play_reaches_the_optimum_and_no_agent_more():
    for game in (*TINY, GAME_2048, GAME_2584):
        optimum = solution_of(game).start_value
        assert expected(OptimalAgent(game), game).score == pytest.approx(optimum, rel=1e-12)
        for agent in (RandomAgent(game), GreedyAgent(game)):
            assert expected(agent, game).score < optimum


def test_boards_that_cannot_be_reached_have_no_value():
    solution = solution_of(GAME_2048)
    assert np.isnan(solution.state_values(np.zeros((1, 2, 3), np.uint8)))[0]
    with pytest.raises(ValueError, match="cannot reach the board"):
        OptimalAgent(GAME_2048).action_values(np.full((1, 2, 3), 5))


def test_tiles_that_no_game_has_are_unreachable_however_large():
    asked = [f"b {tile} 1 0 0 0 0" for tile in (32, 100, 256, 10**30, "9" * 5000)]
    assert all(line.endswith(" = -1") for line in answers(solution_of(GAME_2584), asked))
    assert list(answers(solution_of(GAME_2584), ["", "  "])) == []
    (padded,) = answers(solution_of(GAME_2584), ["a 002 0002 0 0 0 0 "])
    assert padded == "a 002 0002 0 0 0 0 = 1422.339260970"


def test_a_solution_is_saved_and_loaded(tmp_path):
    solution = solution_of(GAME_2048)
    solution.save(tmp_path)
    loaded = Solution.load(tmp_path, GAME_2048)
    boards = reachable(solution)
    assert np.array_equal(loaded.state_values(boards), solution.state_values(boards))
    agent = OptimalAgent(GAME_2048, solution=str(tmp_path))
    assert agent.solution.start_value == solution.start_value


def test_the_solution_of_another_game_and_values_out_of_order_are_refused(tmp_path):
    solution = solution_of(TINY[0])
    solution.save(tmp_path)
    with pytest.raises(ValueError, match=r"is the solution of|expected at most"):
        Solution.load(tmp_path, GAME_2048)
    with pytest.raises(ValueError, match="another spawn"):
        Solution.load(tmp_path, dataclasses.replace(TINY[0], spawn={2: 1.0}))
    states = dataclasses.replace(solution.states, keys=solution.states.keys[::-1].copy())
    dataclasses.replace(solution, states=states).save(tmp_path)
    with pytest.raises(ValueError, match="do not belong together"):
        Solution.load(tmp_path, TINY[0])
    with pytest.raises(ValueError, match="do not belong together"):
        dataclasses.replace(solution.states, keys=solution.states.keys[1:])


def test_no_game_has_more_boards_than_said():
    for game in (*TINY, GAME_2048, GAME_2584):
        solution = solution_of(game)
        assert len(solution.afterstates) < len(solution.states) <= most_boards(game)


def test_ages_add_up_in_merges():
    for rules in (RULES_2048, RULES_2584, POWERS3):
        ages = tile_ages(rules)
        assert all(ages[a] + ages[b] == ages[c] for a, b, c in rules.merges)
    threes = Rules("Threes", (0, 1, 2, 3, 6), [(1, 2, 3), (2, 1, 3), (3, 3, 4)], {1: 1.0}, 6)
    assert tile_ages(threes).tolist() == [0, 1, 1, 2, 4]


def test_rules_whose_merges_do_not_add_up_are_refused():
    rules = Rules("Odd", (0, 1, 2, 3), [(1, 1, 2), (1, 2, 2)], {1: 1.0}, 3)
    with pytest.raises(ValueError, match="Odd cannot be solved"):
        solve(SlidingGame(rules, (2, 2)))


# Probabilities of goals.


@pytest.mark.parametrize("game", TINY, ids=str)
def test_the_best_probability_of_a_goal_is_that_of_a_plain_recursion(game):
    goal = game.rules.faces[4]
    ended = dataclasses.replace(
        game, rules=dataclasses.replace(game.rules, goal=goal), terminate_at_goal=True
    )
    known = {}

    def probability(board):
        key = board.tobytes()
        if key not in known:
            after, _, masks = ended.afterstates(board[None])
            best = float(board.max() >= 4)
            for action in np.flatnonzero(masks[0]):
                replies = ended.replies(after[0, action][None])
                following = map(probability, replies.boards)
                values = zip(replies.probabilities, following, strict=True)
                best = max(best, sum(p * value for p, value in values))
            known[key] = best
        return known[key]

    boards, mass = start_boards(game)
    solution = solve(game, goal=goal)
    assert solution.start_value == pytest.approx(mass @ [probability(board) for board in boards])
    for key, value in list(known.items())[::7]:
        board = np.frombuffer(key, np.uint8).reshape(1, *game.shape)
        assert solution.state_values(board) == pytest.approx(value)
        if np.isfinite(values := solution.action_values(board)).any():
            assert values.max() == pytest.approx(value)


@pytest.mark.parametrize(("goal", "percent"), [(16, 96.25), (32, 8.29), (4, 100), (2048, 0)])
def test_the_command_prints_the_published_probability(goal, percent):
    printed = typed("solve", "--shape", 2, 2, "--goal", goal)
    share = float(re.search(r"probability  (\d\.\d{6}) to reach", printed)[1])
    assert 100 * share == pytest.approx(percent, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "percent"), [(256, 99.571), (512, 73.68)])
def test_the_published_probabilities_on_3x3(goal, percent):
    solution = solve(SlidingGame(RULES_2048, (3, 3)), goal)
    assert 100 * solution.start_value == pytest.approx(percent, abs=0.005)


# The exact evaluation of agents.


@pytest.mark.parametrize("make", [RandomAgent, GreedyAgent])
def test_the_expected_score_is_that_of_sampled_games(make):
    exact = expected(make(GAME_2584), GAME_2584)
    record = play(make(GAME_2584, seed=1), "Tiles2584-v0", {"shape": (2, 3)}, 40_000, seed=2)
    error = record.returns.std() / math.sqrt(len(record.returns))
    assert abs(record.returns.mean() - exact.score) < 4 * error
    assert record.moves / len(record.returns) == pytest.approx(exact.moves, rel=0.01)
    for tile, share in enumerate(exact.ended):
        sampled = (record.tiles == GAME_2584.rules.faces[tile]).mean()
        assert abs(sampled - share) < 4 * math.sqrt(share * (1 - share) / 40_000) + 1e-4


class Wavering:
    """Plays the first legal action, and rarely the last."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def predict(self, observation, action_masks):
        last = action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)
        rarely = self.rng.random(len(last)) < 0.01
        return np.where(rarely, last, action_masks.argmax(axis=1))


UP = SimpleNamespace(predict=lambda observation: np.zeros(len(observation), np.int64))
RECURRENT = SimpleNamespace(predict=lambda seen, state=None: (UP.predict(seen), "memory"))


def test_agents_that_play_by_more_than_the_board_are_refused():
    searched = OptimalAgent(GAME_2048), GAME_2048
    for agent, named in (
        (RECURRENT, "memory"),
        (Wavering(), "chance"),
        (UP, "plays 0"),
        (Expectimax(*searched, milliseconds=5), "time"),
        (Expectimax(*searched, samples=1), "draws"),
    ):
        with pytest.raises(ValueError, match=named):
            expected(agent, GAME_2048)


# The commands.


SOLVE = ("solve", "--env", "Tiles2584-v0", "--shape", "2", "3")


def test_the_command_prints_the_solution(tmp_path):
    for _ in range(2):  # the second time it is read
        printed = typed(*SOLVE, "--out", tmp_path / "solution")
        assert "815,828 (205,011 up to symmetry)" in printed
        assert "525,758 (131,830 up to symmetry)" in printed
        assert "1,425.817560927" in printed
    printed = typed(
        *("evaluate", "optimal", "--env", "Tiles2584-v0", "--exact"),
        *("--env-kwargs", '{"shape": [2, 3]}'),
        *("--agent-kwargs", f'{{"solution": "{tmp_path / "solution"}"}}'),
    )
    assert "100.000% of the optimum" in printed


def test_queries_are_answered_line_by_line_with_the_published_values(tmp_path):
    queries, published = zip(*(line.split(" = ") for line in PUBLISHED), strict=True)
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


@pytest.mark.parametrize("line", ["b 1 1 0 0 0", "a 1 1.5 0 0 0 0", "c 1 1 0 0 0 0", "\x00\x07"])
def test_a_line_that_is_no_query_is_named(tmp_path, line):
    path = tmp_path / "queries.txt"
    path.write_text(f"b 1 1 0 0 0 0\n{line}\n")
    done = command(*SOLVE, "--query", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 2" in done.stderr
