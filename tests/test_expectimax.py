"""Expectimax against its definition, and against exact values at full depth."""

import itertools
from functools import cache

import gymnasium as gym
import numpy as np
import oracle
import pytest

from baselines.agent import ValueAgent
from baselines.kernels import game_of
from baselines.ntuple.learning import NTuple, NTupleSettings
from baselines.search.expectimax import Expectimax

LAWS = {
    ("Tiles2048-v0", None),
    ("Tiles2048-v0", ((2, 0.8), (4, 0.2))),
    ("Tiles2584-v0", None),
    ("Tiles2584-v0", ((1, 0.75), (3, 0.25))),
}


def learner(env_id, shape=(4, 4), spawn=None, scale=20.0, network="0123"):
    env = gym.make(env_id, shape=shape, spawn=dict(spawn) if spawn else None)
    made = NTuple(env, (), NTupleSettings(network=network, method="td"), 0)
    weights = made.state()["weights"]
    weights[:] = np.random.default_rng(1).random(len(weights), np.float32) * np.float32(scale)
    return made


class AnyAgent(ValueAgent):
    """The same values, from an agent of which the search knows nothing."""

    def __init__(self, made):
        self._made = made

    def values(self, observations):
        """Return what each action is worth."""
        return self._made.values(observations)


def brute_force(made, board, depth):
    """Return what each action is worth, by the definition; minus infinity if illegal."""
    env = made.env

    def value(after, left):
        if left == 0:
            # The network's value of an afterstate, told apart from the reward that led to it.
            return float(made_value(after.tobytes()))
        cells = np.argwhere(after == 0)
        total = 0.0
        for (row, column), (tile, chance) in itertools.product(
            cells, zip(env.law.tiles, env.law.probabilities, strict=True)
        ):
            following = after.copy()
            following[row, column] = tile
            best = worths(following, left).max()
            total += chance / len(cells) * (best if np.isfinite(best) else 0.0)
        return total

    @cache
    def made_value(content):
        after = np.frombuffer(content, np.uint8).reshape(env.shape)
        images = [after, after[::-1], after[:, ::-1], after[::-1, ::-1]]
        if env.shape[0] == env.shape[1]:
            images += [image.T for image in images]
        cells = list(made.network.tuples[0])
        seen = (image.reshape(-1)[cells].tolist() for image in images)
        return sum(
            made.net.weights[oracle.entry_number(tiles, made.network.values)] for tiles in seen
        )

    def worths(board, depth):
        after, rewards, masks = env.afterstates(board[None])
        return np.array(
            [
                rewards[0, action] + value(after[0, action], depth - 1)
                if masks[0, action]
                else -np.inf
                for action in range(4)
            ]
        )

    return worths(board, depth)


@pytest.mark.parametrize(("env_id", "spawn"), sorted(LAWS, key=str))
@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (3, 2)])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("kind", [lambda made: made, AnyAgent])
def test_search_is_its_definition(env_id, spawn, shape, depth, kind):
    made = learner(env_id, shape, spawn)
    # The memory is small enough to be overwritten all the time.
    agent = Expectimax(kind(made), made.env, depth, memory_bits=8)
    boards = np.random.default_rng(2).integers(1, 7, (3, *shape), np.uint8)
    boards[1:, 0, 0] = 0
    boards[2, -1, -1] = 0
    values = agent.values(boards)
    for board, found in zip(boards, values, strict=True):
        expected = brute_force(made, board, depth)
        assert np.array_equal(np.isfinite(expected), np.isfinite(found))
        assert found[np.isfinite(found)] == pytest.approx(expected[np.isfinite(expected)], rel=1e-4)


def test_depth_one_is_the_greedy_player():
    made = learner("Tiles2048-v0")
    envs = gym.make_vec("Tiles2048-v0", 100)
    observations, _ = envs.reset(seed=0)
    envs.action_space.seed(0)
    for _ in range(30):
        observations, *_ = envs.step(envs.sample_legal_actions())
    agent = Expectimax(made, made.env, 1)
    assert np.array_equal(agent.values(observations), made.values(observations))


def test_full_depth_is_exact():
    """On 2×2 no game is long, so a deep search with values of 0 is the expected score."""
    made = learner("Tiles2048-v0", (2, 2), scale=0.0)
    env = made.env

    @cache
    def exact(board):
        cells = np.array(board, np.uint8).reshape(1, 2, 2)
        after, rewards, masks = env.afterstates(cells)
        worths = [0.0]
        for action in np.flatnonzero(masks[0]):
            flat = after[0, action].reshape(-1)
            empty = np.flatnonzero(flat == 0)
            value = float(rewards[0, action])
            for cell, (tile, chance) in itertools.product(
                empty, zip(env.law.tiles, env.law.probabilities, strict=True)
            ):
                following = flat.copy()
                following[cell] = tile
                value += chance / len(empty) * exact(tuple(following.tolist()))
            worths.append(value)
        return max(worths)

    agent = Expectimax(made, made.env, 60)
    for board in ((1, 1, 0, 0), (1, 2, 0, 0), (3, 2, 1, 0), (0, 1, 0, 2)):
        cells = np.array(board, np.uint8).reshape(1, 2, 2)
        assert agent.values(cells).max() == pytest.approx(exact(board), rel=1e-5)


@pytest.mark.slow
def test_full_depth_is_exact_on_a_board_that_was_solved():
    """2584 on 2×3, values published with a university course's solver of this game."""
    made = learner("Tiles2584-v0", (2, 3), scale=0.0)
    agent = Expectimax(made, made.env, 100, memory_bits=24)
    boards = [[[1, 1, 0], [0, 0, 1]], [[2, 2, 0], [0, 0, 0]], [[0, 0, 0], [0, 4, 2]]]
    values = agent.values(np.array(boards, np.uint8)).max(axis=1)
    assert values == pytest.approx([1426.366089, 1422.339261, 1412.897933], rel=1e-5)


def test_chance_weights_are_those_of_the_law():
    for env_id, spawn in LAWS:
        game = game_of(gym.make(env_id, spawn=dict(spawn) if spawn else None).unwrapped)
        assert game.probabilities.sum() == pytest.approx(1)
        assert len(game.probabilities) == len(game.tiles)


def test_boards_with_few_empty_cells_are_searched_deeper():
    made = learner("Tiles2048-v0")
    full = np.arange(16, dtype=np.uint8).reshape(1, 4, 4) % 7 + 1
    full[0, 0, :2] = 0
    empty = np.zeros((1, 4, 4), np.uint8)
    empty[0, 0] = (1, 2, 3, 0)
    agent = Expectimax(made, made.env, 1, deeper={4: 3, 2: 2})
    assert np.array_equal(agent.values(full), Expectimax(made, made.env, 2).values(full))
    assert np.array_equal(agent.values(empty), made.values(empty))


def test_a_time_budget_bounds_the_depth():
    made = learner("Tiles2048-v0")
    boards = np.zeros((1, 4, 4), np.uint8)
    boards[0, 0] = (1, 2, 3, 0)
    short = Expectimax(made, made.env, 50, milliseconds=1e-6)
    assert np.array_equal(short.values(boards), made.values(boards))
    ample = Expectimax(made, made.env, 2, milliseconds=60_000)
    assert np.array_equal(ample.values(boards), Expectimax(made, made.env, 2).values(boards))


def test_threads_change_nothing():
    made = learner("Tiles2584-v0")
    envs = gym.make_vec("Tiles2584-v0", 33)
    observations, _ = envs.reset(seed=0)
    one, three = Expectimax(made, made.env, 2), Expectimax(made, made.env, 2, threads=3)
    assert np.array_equal(one.values(observations), three.values(observations))
    assert np.array_equal(three.predict(observations[:1])[0], one.predict(observations[:1])[0])


def test_drawn_tiles_come_near_the_weighed_ones():
    made = learner("Tiles2584-v0")
    board = np.zeros((1, 4, 4), np.uint8)
    board[0, 0] = (1, 3, 5, 8)
    board[0, 1, :2] = (2, 2)
    weighed = Expectimax(made, made.env, 2).values(board)
    drawn = Expectimax(made, made.env, 2, samples=1)
    turns = np.concatenate([drawn.values(board) for _ in range(4000)])
    legal = np.isfinite(weighed[0])
    assert (turns[:, legal].std(axis=0) > 0).all()
    error = turns[:, legal].std(axis=0) / np.sqrt(len(turns))
    assert (abs(turns.mean(axis=0)[legal] - weighed[0, legal]) < 5 * error).all()
    again = Expectimax(made, made.env, 2, samples=1)
    assert np.array_equal(turns[:1], again.values(board))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": -1}, "samples must be a whole number of new tiles, or 0, got -1"),
        ({"samples": 0.5}, "samples must be a whole number of new tiles, or 0, got 0.5"),
        ({"depth": 0}, "a search looks at 1 to 100 moves, got 0"),
        ({"depth": -2}, "a search looks at 1 to 100 moves, got -2"),
        ({"deeper": {3: 0}}, "a search looks at 1 to 100 moves, got 0"),
        ({"deeper": {17: 2}}, "a board has 0 to 16 empty cells, got 17"),
        ({"deeper": 3}, 'deeper must be a mapping such as {"3": 4}, got 3'),
        ({"deeper": {"x": 2}}, "a board has 0 to 16 empty cells, got 'x'"),
        ({"deeper": {"3": "x"}}, "a search looks at 1 to 100 moves, got 'x'"),
        ({"milliseconds": "a"}, "milliseconds must be above 0 and finite, got 'a'"),
        ({"milliseconds": True}, "milliseconds must be above 0 and finite, got True"),
        ({"milliseconds": 0}, "milliseconds must be above 0 and finite, got 0"),
        ({"memory_bits": 40}, "memory_bits must be from 1 to 30, got 40"),
        ({"threads": 0}, "threads must be"),
    ],
)
def test_unusable_options_are_named(options, message):
    made = learner("Tiles2048-v0")
    with pytest.raises(ValueError, match=message):
        Expectimax(made, made.env, **({"depth": 2} | options))


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "message"),
    [
        ("TicTacToe-v0", {}, "plays the sliding games, not tic-tac-toe"),
        ("Tiles2584-v0", {}, "the network is for 2048 on 4×4, .* not for 2584"),
        ("Tiles2048-v0", {"shape": (2, 3)}, "the network is for 2048 on 4×4, .* not for 2048"),
    ],
)
def test_values_of_another_game_are_refused(env_id, env_kwargs, message):
    with pytest.raises(ValueError, match=message):
        Expectimax(learner("Tiles2048-v0"), gym.make(env_id, **env_kwargs))
