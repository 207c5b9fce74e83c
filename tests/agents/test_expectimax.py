"""Expectimax against its definition, and against exact values at full depth."""

import os
import pickle
import signal
from copy import deepcopy
from dataclasses import replace
from itertools import product

import numpy as np
import powers3
import pytest
from covering import covering
from placers import LastCell, worst_by_force
from players import Weighing

from baselines.agents import ValueAgent
from baselines.ntuple.ntuple import NTuple, NTupleSettings
from baselines.ntuple.values import action_values
from baselines.search import batched_expectimax, clock, compiled_expectimax, expectimax
from baselines.search.compiled_expectimax import ALL, CompiledSearch, deepening, search, search_for
from baselines.search.expectimax import Expectimax, downgrade
from baselines.solver.solve import solve
from tile_envs.games import vector_env
from tile_envs.sliding import RULES_2048, RULES_2584, Rules, SlidingGame
from tile_envs.sliding.chance import NAMED
from tile_envs.sliding.packed.kernels import rows_of

LAST = LastCell()
TILES_2048, TILES_2584 = SlidingGame(RULES_2048), SlidingGame(RULES_2584)
SPAWNS = [
    (RULES_2048, None),
    (RULES_2048, {2: 0.8, 4: 0.2}),
    (RULES_2584, None),
    (RULES_2584, {1: 0.75, 3: 0.25}),
    (powers3.RULES, {3: 0.5, 9: 0.3, 27: 0.2}),
]


def learner(game=TILES_2048, scale=20.0, **settings):
    # A search is compiled for a number of orientations, these have sixteen.
    network = "0123 12" if game.shape[0] == game.shape[1] else "0123 12 34 5"
    made = NTuple(game, 0, NTupleSettings(**{"network": network} | settings))
    weights = made.state_dict()["weights"]
    weights[:] = np.random.default_rng(1).random(len(weights), np.float32) * np.float32(scale)
    return made


class AnyAgent(ValueAgent):
    """The same values, from an agent of which the search knows nothing."""

    def __init__(self, made):
        self._made = made

    def action_values(self, observations):
        return self._made.action_values(observations)


def brute_force(made, game, board, depth, is_selective=False):
    """Return the value of each action, by the definition; minus infinity if illegal."""
    distribution = game.distribution

    def value(after, left):
        total = 0.0
        for tile, chance in zip(distribution.tiles, distribution.probabilities, strict=True):
            cells = np.flatnonzero(after == 0)
            if game.placer == "adversary":
                cells = worst_by_force(game, after, tile)
            elif game.placer == LAST:
                cells = cells[-1:]
            fewer = left - 1 if is_selective and chance < 0.2 and left > 2 else left
            for cell in cells:
                following = after.copy()
                following.flat[cell] = tile
                values = action_values(following, fewer)
                if is_selective and left > 1:
                    greedy = made.action_values(following)
                    values = values[greedy >= greedy.max() - abs(greedy.max()) * 0.6]
                best = values.max()
                total += chance / len(cells) * (best if np.isfinite(best) else 0.0)
        return total

    def action_values(board, depth):
        if depth == 1:
            return made.action_values(board)
        (after,), (rewards,), (masks,) = game.afterstates(board[None])
        values = np.full(4, -np.inf)
        for action in np.flatnonzero(masks):
            values[action] = rewards[action] + value(after[action], depth - 1)
        return values

    return action_values(board, depth)


SHAPES, KINDS = [(4, 4), (2, 3), (3, 2)], [lambda made: made, AnyAgent]


def test_nothing_is_compiled_in_the_time_of_a_move():
    """This test comes first: no other one here has compiled the search yet."""

    def kinds():
        return [len(loop.signatures) for loop in (search, search_for, clock._now, action_values)]

    made = learner()
    agent = Expectimax(made, made.game, 9, milliseconds=20, threads=2, table=1)
    compiled = kinds()
    boards = np.random.default_rng(4).integers(1, 6, (3, 4, 4), np.uint8)
    boards[:, 0] = 0
    for state in (boards[:1], boards):
        agent.action_values(state)
    assert kinds() == compiled
    Expectimax(made, made.game, 4, threads=2, table=1).action_values(boards[:1])
    assert len(search.signatures) == 1  # within the timed one, or from the cache on its own


@pytest.mark.parametrize(
    ("spawned", "shape", "depth", "kind", "placer"),
    covering(3, SPAWNS, SHAPES, (1, 2, 3), KINDS, [*NAMED, LAST]),
)
def test_search_is_its_definition(spawned, shape, depth, kind, placer, monkeypatch):
    """The network need not have learned the new tiles and the placer that it searches with."""
    rules, spawn = spawned
    made, game = learner(SlidingGame(rules, shape)), SlidingGame(rules, shape, spawn, placer=placer)
    monkeypatch.setattr(expectimax, "MEBIBYTE", 1 << 12)  # overwritten all the time
    agent = Expectimax(kind(made), game, depth, table=1)
    boards = np.random.default_rng(2).integers(1, 7, (3, *shape), np.uint8)
    boards[1:, 0, 0] = 0
    boards[2, -1, -1] = 0
    values = agent.action_values(boards)
    for board, found in zip(boards, values, strict=True):
        assert found == pytest.approx(brute_force(made, game, board, depth), rel=1e-4)


@pytest.mark.parametrize("spawned", SPAWNS)
def test_a_timed_search_is_its_definition(spawned):
    game = SlidingGame(spawned[0], (2, 3), spawned[1])
    made, ends = learner(game), clock.now() + 600
    made.state_dict()["weights"][:] -= 9  # so that actions differ much
    boards = np.random.default_rng(2).integers(1, 5, (9, 2, 3), np.uint8)
    boards[:, 0, 0] = 0
    tables, rows = CompiledSearch(made, game, 1 << 20)._current(), rows_of(game, boards)
    for depth in (2, 3, 4):
        expected = np.array([brute_force(made, game, board, depth, True) for board in boards])
        full = Expectimax(made, game, depth, table=1).action_values(boards)
        assert (depth == 2) == np.allclose(expected, full, rtol=1e-4)
        assert search(*tables, rows, depth, ends, ALL) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("shape", [(1, 5), (6, 2), (5, 5)])
def test_any_agent_is_searched_with_on_boards_of_any_shape(shape):
    game = SlidingGame(RULES_2048, shape)
    agent, boards = Weighing(game), vector_env(game, 8).reset(seed=0)[0]
    values = Expectimax(agent, game, depth=2).action_values(boards)
    after, rewards, masks = game.afterstates(boards)
    assert np.array_equal(np.isfinite(values), masks > 0)
    for i, action in np.argwhere(masks):
        _, states, chances = game.replies(after[i, [action]])
        best = agent.action_values(states).max(axis=1)
        expected = rewards[i, action] + chances @ np.where(np.isfinite(best), best, 0.0)
        assert values[i, action] == pytest.approx(expected)


@pytest.mark.parametrize("ends", [False, True])
def test_full_depth_is_exact(ends):
    """On 2×2 no game is long, so a deep search with values of 0 is the expected score."""
    game = SlidingGame(replace(RULES_2048, goal=16), (2, 2), terminate_at_goal=ends)
    boards = np.array([[1, 1, 0, 0], [1, 2, 0, 0], [3, 2, 1, 0], [0, 1, 0, 2]], np.uint8)
    boards = boards.reshape(-1, 2, 2)
    values = Expectimax(learner(game, scale=0.0), game, 60).action_values(boards)
    assert values == pytest.approx(solve(game).action_values(boards), rel=1e-5)


@pytest.mark.parametrize("kind", [learner, Weighing])
@pytest.mark.parametrize("options", [{}, {"samples": 2}, {"downgrade": 32}, {"milliseconds": 9}])
def test_a_board_without_a_move_is_worth_nothing_and_its_value_not_asked_for(kind, options):
    """Any tile on the last empty cell ends the second game, whatever the values."""
    game = SlidingGame(RULES_2048, (2, 2))
    agent, boards = kind(game), np.array([[[3, 4], [5, 6]], [[3, 4], [5, 0]]], np.uint8)
    for depth, some in product((1, 2, 3), (boards[:0], boards[:1], boards[1:], boards)):
        values = Expectimax(agent, game, depth, **options).action_values(some)
        legal = game.legal_actions(some) > 0
        assert np.array_equal(values > -np.inf, legal)
        if depth > 1 and not options.keys() & {"downgrade", "milliseconds"}:
            assert not values[legal].any()


def test_the_depth_follows_from_the_time():
    made, boards = learner(), np.zeros((1, 4, 4), np.uint8)
    boards[0, 0] = (1, 2, 3, 0)
    for depth, milliseconds, same in ((50, 1e-6, made), (2, 60_000, Expectimax(made, made.game))):
        agent = Expectimax(made, made.game, depth, milliseconds=milliseconds)
        assert np.array_equal(agent.action_values(boards), same.action_values(boards))


@pytest.mark.parametrize(
    ("call", "board", "late"), [(0.9, 0, 0.9), (0, 0.9, 32 * 0.9), (4, 0, 4), (12, 0, 2)]
)
def test_a_move_over_any_agent_is_late_by_one_evaluation_at_most(call, board, late, monkeypatch):
    """Here time passes in evaluations alone: so much for each call, and for each board."""
    time = 0.0

    class Clockwork(Weighing):
        def action_values(self, observations):
            nonlocal time
            time += call + board * len(observations)
            return super().action_values(observations)

    for module in (batched_expectimax, compiled_expectimax):
        monkeypatch.setattr(module, "now", lambda: time / 1000)
    agent = Clockwork(TILES_2048)
    search = Expectimax(agent, TILES_2048, 10, milliseconds=10)
    for state in np.random.default_rng(4).integers(0, 6, (20, 1, 4, 4), np.uint8):
        began = time
        values = search.action_values(state)
        assert time - began <= 10 + late + 1e-6
        if call > 10:
            assert np.array_equal(values, agent.action_values(state))


def test_only_actions_of_close_values_are_searched_deeper():
    # From depth 1 to 2 the values change by 1, -3 and 2, so all within 10 of the best stay; from 2
    # to 3 by 10, 9 and 8, and only two are within 4 of the best; then time is over for one of them.
    found, asked = ([10, 2, 10, 0], [20, 11, 18, 0], [0, 0, np.nan, 0], [0, 0, 0, 0]), []

    def search(boards, depth, end, order):
        asked.append((depth, [*order]))
        here = [a in order for a in range(4)]
        return np.where(here, found[depth - 2], -np.inf)[None]

    board, values = np.zeros((1, 4, 4), np.uint8), np.array([9, 5, 8, -np.inf])
    deeper = deepening(search)((board,), 9, clock.now() + 60, values)
    assert deeper.tolist() == [0, -9, -2, -np.inf]
    assert asked == [(2, [0, 2, 1]), (3, [0, 2, 1]), (4, [0, 2])]


def test_a_search_that_has_no_time_gives_up_and_leaves_no_trace():
    made = learner()
    boards, depth = vector_env(made.game, 20).reset(seed=0)[0], 3
    first, other = (CompiledSearch(made, made.game, 1 << 20) for _ in range(2))
    late = search(*first._current(), rows_of(made.game, boards), depth, clock.now() - 1, ALL)
    assert np.isnan(late[made.game.legal_actions(boards) > 0]).all()
    assert np.array_equal(first(boards, depth), other(boards, depth))


RISING = RULES_2048.merges[:4]
SHRINKING = Rules("0", RULES_2048.faces[:6], [*RISING, (5, 5, 1)], {2: 0.7, 32: 0.3}, goal=32)


@pytest.mark.parametrize(
    ("rules", "shape", "placer"),
    covering(2, [replace(RULES_2048, goal=32), SHRINKING], [*SHAPES, (2, 2), (3, 3)], NAMED),
)
def test_no_search_goes_on_after_the_goal(rules, shape, placer):
    """Not even where tiles of the goal would merge to a smaller one."""
    game = SlidingGame(rules, shape, placer=placer, terminate_at_goal=True)
    made = learner(replace(game, placer="random"))
    boards = np.random.default_rng(7).integers(1, 5, (6, *shape), np.uint8)
    boards[:, :, 0], boards[:, 0, 0], boards[3:, :2, :2] = 4, 0, 4
    boards[5, -1, -1] = 5
    for depth in (1, 2, 3, 4):
        values = Expectimax(made, game, depth, table=1).action_values(boards)
        plain = Expectimax(AnyAgent(made), game, depth).action_values(boards)
        assert values == pytest.approx(plain, rel=1e-4)


@pytest.mark.parametrize(
    ("game", "settings"),
    [
        (TILES_2048, {"network": "01234 0189", "values": 6, "stages": (60, 100), "method": "tc"}),
        (SlidingGame(RULES_2584, (3, 4)), {"network": "024 01234 b 78a", "values": 9}),
        (SlidingGame(RULES_2048, spawn={2**i: 1 / 6 for i in range(1, 7)}), {}),
    ],
    ids=str,
)
def test_compiled_values_are_those_of_the_definition_for_any_network(game, settings):
    made = learner(game, scale=1.0, **settings)
    boards = np.random.default_rng(3).integers(0, 6, (30, *game.shape), np.uint8)
    boards[boards == 5] = 0
    for depth in (2, 3):
        values = Expectimax(made, game, depth, table=1).action_values(boards[: 30 // depth**2])
        plain = Expectimax(AnyAgent(made), game, depth).action_values(boards[: 30 // depth**2])
        assert values == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize(("rules", "placer"), [(RULES_2584, "random"), (RULES_2048, "adversary")])
def test_threads_change_no_bit(rules, placer):
    made, game = learner(SlidingGame(rules)), SlidingGame(rules, placer=placer)
    boards = np.random.default_rng(5).integers(0, 7, (7, 4, 4), np.uint8)
    boards[:, :3] += (boards[:, :3] == 0).astype(np.uint8)  # at most four empty cells
    alone = Expectimax(made, game, 4, threads=1).action_values(boards)
    for threads in (2, 3, 8):  # with 8 all search each board together
        together = Expectimax(made, game, 4, threads=threads)
        assert together.action_values(boards).tobytes() == alone.tobytes()
        assert together.action_values(boards[:1]).tobytes() == alone[:1].tobytes()


def lower(board, threshold):
    """Return a downgraded board, by the definition."""
    missing = [tile for tile in range(1, board.max()) if tile not in board]
    if board.max() < threshold or not missing:
        return board
    return np.where(board > missing[-1], board - 1, board)


def test_boards_with_large_tiles_are_searched_with_smaller_ones():
    boards = np.random.default_rng(6).integers(0, 17, (500, 4, 4), np.uint8)
    boards[::2][boards[::2] > 12] = 0
    expected = np.array([lower(board, 15) for board in boards])
    changed = (expected != boards).any(axis=(1, 2))
    assert 100 < changed.sum() < 400
    lowered, legal, made = downgrade(boards, 15), TILES_2048.legal_actions, learner()
    assert np.array_equal(lowered, expected)
    assert lowered.dtype == np.uint8
    assert np.array_equal(legal(boards), legal(expected))
    agent, plain = (Expectimax(made, made.game, 2, downgrade=face) for face in (32768, None))
    assert np.array_equal(agent.action_values(boards), plain.action_values(expected))


@pytest.mark.linux
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_search_with_threads_is_forked_pickled_copied_and_searched_with():
    boards, _ = vector_env(TILES_2048, 8).reset(seed=0)
    agent, deeper = (Expectimax(learner(), TILES_2048, depth, threads=2) for depth in (2, 3))
    nested, values = Expectimax(agent, TILES_2048, 2, threads=2), agent.action_values(boards)
    assert nested.action_values(boards) == pytest.approx(deeper.action_values(boards), rel=1e-4)
    for copied in (pickle.loads(pickle.dumps(agent)), deepcopy(agent)):
        assert np.array_equal(copied.action_values(boards), values)
    if not (child := os.fork()):
        signal.alarm(30)
        try:
            os._exit(not np.array_equal(agent.action_values(boards), values))
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("loads", [False, True])
def test_a_search_follows_the_values_of_its_network(loads):
    made, other = (NTuple(TILES_2048, seed, NTupleSettings(network="0123 12")) for seed in (0, 1))
    other.learn()
    agent = Expectimax(made, made.game, 3, threads=2)
    boards, _ = vector_env(made.game, 20).reset(seed=0)
    boards[:, 0] = (1, 2, 3, 4)
    before = agent.action_values(boards)
    made.load_state_dict(other.state_dict()) if loads else made.learn()
    values = agent.action_values(boards)
    assert not np.array_equal(values, before)
    assert np.array_equal(values, Expectimax(made, made.game, 3).action_values(boards))


def test_drawn_tiles_come_near_the_weighted_ones():
    board = np.zeros((4, 4), np.uint8)
    board[0], board[1, :2] = (1, 3, 5, 8), (2, 2)
    boards, made = np.array([board] * 4000), learner(TILES_2584)
    weighted, drawn, again = (
        Expectimax(made, made.game, 2, samples=samples).action_values(boards)
        for samples in (0, 1, 1)
    )
    assert np.array_equal(drawn, again)
    legal = np.isfinite(weighted[0])
    assert np.array_equal(np.isfinite(drawn[0]), legal)
    drawn, error = drawn[:, legal].mean(axis=0), drawn[:, legal].std(axis=0) / len(boards) ** 0.5
    assert (error > 0).all()
    assert (abs(drawn - weighted[0, legal]) < 5 * error).all()
