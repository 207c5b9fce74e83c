"""n-tuple networks: entries and symmetry, every update against plain Python, determinism."""

import copy
import itertools
from collections import defaultdict

import gymnasium as gym
import numpy as np
import oracle
import pytest
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from baselines.kernels import game_of, rows_of
from baselines.learner import Learner
from baselines.ntuple.learning import NTuple, NTupleSettings
from baselines.ntuple.network import SETS, SMALL_SETS, Network, new_weights
from tile_envs.random_stream import consecutive, starts
from tile_envs.sliding import afterstates

GAMES = ["Tiles2048-v0", "Tiles2584-v0"]
HARD_LAW = {"Tiles2048-v0": {2: 0.8, 4: 0.2}, "Tiles2584-v0": {1: 0.75, 3: 0.25}}
TD = {"method": "td", "trace": 0.0, "restart": False, "learning_rate": 0.1}
FORWARD = TD | {"direction": "forward"}


def made(env_id="Tiles2048-v0", seed=0, env_kwargs=None, **settings):
    return NTuple(gym.make(env_id, **(env_kwargs or {})), (), NTupleSettings(**settings), seed)


def with_random_weights(learner, scale=100.0):
    weights = learner.state()["weights"][:: learner._settings.width]
    weights[:] = np.random.default_rng(5).random(len(weights), np.float32) * np.float32(scale)
    return learner


def boards_from_play(env_id, n=200, **env_kwargs):
    envs = gym.make_vec(env_id, n, **env_kwargs)
    observations, _ = envs.reset(seed=3)
    envs.action_space.seed(3)
    for _ in range(60):
        observations, *_ = envs.step(envs.sample_legal_actions())
    return observations


class PlainNetwork:
    """The definition of an n-tuple network, a cell at a time: the oracle."""

    def __init__(self, shape, tuples, values):
        self.shape, self.tuples, self.values = shape, tuples, values
        self.weights = defaultdict(float)
        self.errors, self.sizes = defaultdict(float), defaultdict(float)

    def entries(self, board):
        """Yield the key of each entry of a board."""
        images = [board, board[::-1], board[:, ::-1], board[::-1, ::-1]]
        if board.shape[0] == board.shape[1]:
            images += [image.T for image in images]
        for image, (number, cells) in itertools.product(images, enumerate(self.tuples)):
            tiles = image.reshape(-1)[list(cells)]
            yield (number, *np.minimum(tiles, self.values - 1).tolist())

    def value(self, board):
        """Return a board's value."""
        return sum(self.weights[entry] for entry in self.entries(board))

    def update(self, board, error, rate, coherent):
        """Move a board's entries by its error."""
        entries = list(self.entries(board))
        for entry in entries:
            share = 1.0
            if coherent and self.sizes[entry] > 0:
                share = abs(self.errors[entry]) / self.sizes[entry]
            self.weights[entry] += rate * error / len(entries) * share
            self.errors[entry] += error
            self.sizes[entry] += abs(error)


def plain_copy(learner):
    network = learner.network
    plain = PlainNetwork(network.shape, network.tuples, network.values)
    weights = learner.state()["weights"].reshape(network.entries, -1)[:, 0].tolist()
    begin = 0
    for number, cells in enumerate(network.tuples):
        for tiles in itertools.product(range(network.values), repeat=len(cells)):
            plain.weights[(number, *tiles)] = weights[
                begin + oracle.entry_number(tiles, network.values)
            ]
        begin += network.values ** len(cells)
    return plain


class Tie(Exception):
    """Two moves are worth the same but for rounding, so that either may be played."""


def plain_game(network, env, seed, board):
    """Play one game greedily; yield each afterstate, and the reward that led to it."""
    observation, _ = env.reset(seed=seed, options={"board": board})
    over = False
    while not over:
        after, rewards, masks = env.unwrapped.afterstates(observation[None])
        worths = np.array([network.value(image) for image in after[0]]) + rewards[0]
        worths[masks[0] == 0] = -np.inf
        best, second = np.sort(worths)[[-1, -2]]
        if best - second < 1e-2:
            raise Tie
        action = int(worths.argmax())
        observation, _, over, _, _ = env.step(action)
        yield after[0, action], float(rewards[0, action]), over


@pytest.mark.parametrize("env_id", GAMES)
@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (3, 2), (3, 3), (4, 3), (2, 2)])
def test_values_are_sums_over_tuples_in_all_orientations(env_id, shape):
    network = "0125 34" if shape in ((2, 3), (3, 2), (3, 3)) else "012"
    env_kwargs = {"shape": shape}
    learner = with_random_weights(made(env_id, network=network, env_kwargs=env_kwargs, values=7))
    boards = boards_from_play(env_id, **env_kwargs)
    plain = plain_copy(learner)
    after, rewards, masks = afterstates(boards, gym.make(env_id).unwrapped.rules)
    values = learner.values(boards)
    assert np.array_equal(np.isfinite(values), masks > 0)
    for i, action in zip(*np.nonzero(masks), strict=True):
        expected = rewards[i, action] + plain.value(after[i, action])
        assert values[i, action] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("env_id", GAMES)
def test_values_are_the_same_from_all_eight_sides(env_id):
    learner = with_random_weights(made(env_id, network="0123 0156 569"))
    boards = boards_from_play(env_id)
    values = np.sort(learner.values(boards), axis=1)
    for image in (boards[:, ::-1], boards[:, :, ::-1], boards.transpose(0, 2, 1)):
        assert np.allclose(np.sort(learner.values(image), axis=1), values, rtol=1e-5)


@pytest.mark.parametrize("env_id", GAMES)
@pytest.mark.parametrize("law", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (4, 3)])
def test_compiled_games_are_those_of_the_package(env_id, law, shape):
    env_kwargs = {"shape": shape} | ({"spawn": HARD_LAW[env_id]} if law else {})
    learner = with_random_weights(made(env_id, network="012 134", env_kwargs=env_kwargs))
    scores, tiles, moves = learner.play_greedily(consecutive(77, 30))
    envs = gym.make_vec(env_id, 30, **env_kwargs)
    observations, infos = envs.reset(seed=77)
    over, length = np.zeros(30, np.bool_), 0
    faces = np.array(envs.single.rules.faces)
    while not over.all():
        length += int((~over).sum())
        observations, _, ended, _, infos = envs.step(learner.predict(observations)[0])
        first = ended & ~over
        assert np.array_equal(infos["score"][first], scores[first])
        assert np.array_equal(infos["max_tile"][first], faces[tiles[first]])
        over |= ended
    assert length == moves


def learn_forwards(plain, game, coherent):
    last = None
    for board, reward, over in game:
        value = plain.value(board)
        if last is not None:
            plain.update(last[0], reward + value - last[1], RATE, coherent)
        last = board, value
        if over:
            plain.update(board, -value, RATE, coherent)


def learn_backwards(plain, game, coherent, trace):
    target = 0.0
    for board, reward, _ in reversed(list(game)):
        plain.update(board, target - plain.value(board), RATE, coherent)
        value = plain.value(board)
        target = reward + (1 - trace) * value + trace * target


RATE = 0.5


@pytest.mark.parametrize("env_id", GAMES)
@pytest.mark.parametrize("shape", [(4, 4), (2, 3)])
@pytest.mark.parametrize("coherent", [False, True])
@pytest.mark.parametrize("trace", [None, 0.0, 0.5, 1.0])
def test_learning_does_as_plain_python_does(env_id, shape, coherent, trace):
    settings = FORWARD if trace is None else TD | {"trace": trace}
    settings = settings | {"method": "tc" if coherent else "td", "learning_rate": RATE}
    env_kwargs = {"shape": shape}
    learner = made(env_id, network="0123 124", env_kwargs=env_kwargs, values=7, **settings)
    plain = plain_copy(with_random_weights(learner))
    env = gym.make(env_id, shape=shape)
    boards = np.random.default_rng(0).integers(1, 6, (25, *shape), np.uint8)
    boards[:, 0, 1] = 0
    learned = 0
    for seed, board in enumerate(boards):
        before = copy.deepcopy(plain)
        try:
            game = plain_game(plain, env, seed, board)
            if trace is None:
                learn_forwards(plain, game, coherent)
            else:
                learn_backwards(plain, game, coherent, trace)
        except Tie:
            plain = before
            continue
        positions = starts(np.array([seed], np.uint64))
        rows = rows_of(learner.env, board[None])
        learner._play(rows, positions, learner._rule(), trace is not None)
        learned += 1
    assert learned >= 5
    after, rewards, masks = afterstates(boards, env.unwrapped.rules)
    values = learner.values(boards)
    for i, action in zip(*np.nonzero(masks), strict=True):
        expected = plain.value(after[i, action]) + rewards[i, action]
        assert values[i, action] == pytest.approx(expected, rel=1e-4, abs=1e-2)


def test_a_restart_begins_in_the_middle_of_the_last_game():
    """Without learning to speak of, chains of games halve in length, so moves double or so."""
    learner = with_random_weights(made(network="01", learning_rate=1e-30))
    starting = learner._starts(consecutive(0, 50))
    rule = learner._rule()
    scores, _, moves = learner._play(*starting, rule, backward=True)
    same, _, alone = learner._play(*starting, rule._replace(restart=False), backward=True)
    assert np.array_equal(scores, same)
    assert 1.4 * alone < moves < 4 * alone


def test_a_single_board_gets_a_single_action():
    learner = with_random_weights(made(network="0123"))
    boards = boards_from_play("Tiles2048-v0", n=20)
    actions, _ = learner.predict(boards)
    for board, action in zip(boards, actions, strict=True):
        alone, _ = learner.predict(board)
        assert alone == action
        assert np.ndim(alone) == 0


def test_stages_have_weights_of_their_own():
    learner = made(network="0123", stages=(64,), initial=8.0)
    weights = learner.state()["weights"].reshape(2, -1, 3)
    weights[1, :, 0] += 1
    low, high = np.zeros((2, 1, 4, 4), np.uint8)
    low[0, 0, :2], high[0, 0, :2] = (4, 5), (4, 6)
    assert learner.values(low)[0, 1] == pytest.approx(8)
    assert learner.values(high)[0, 1] == pytest.approx(8 + 8)  # eight entries a board


def test_stages_begin_with_what_all_have_learned_together():
    staged = made(network="0123", stages=(64,), stage_games=200)
    plain = made(network="0123")
    boards = boards_from_play("Tiles2048-v0")
    for _ in range(2):
        staged.learn(), plain.learn()
        assert np.array_equal(staged.values(boards), plain.values(boards))
    first, second = staged.state()["weights"].reshape(2, -1)
    assert np.array_equal(first, second)
    assert np.array_equal(first, plain.state()["weights"])
    staged.learn()
    assert not np.array_equal(first, second)


def test_larger_tiles_share_the_last_value():
    learner = with_random_weights(made("Tiles2584-v0", network="0123", values=21))
    boards = np.zeros((3, 4, 4), np.uint8)
    boards[:, 0, 1] = (20, 24, 31)
    one, other, last = learner.values(boards)
    assert np.array_equal(one, other)
    assert np.array_equal(one, last)
    boards[1, 0, 1] = 19
    assert not np.array_equal(one, learner.values(boards)[1])


def test_optimistic_values_are_what_every_board_is_worth_at_first():
    learner = made(initial=1000.0, network="4x5")
    values = learner.values(boards_from_play("Tiles2048-v0"))
    assert (values[np.isfinite(values)] >= 999.9).all()


@pytest.mark.parametrize(
    "settings",
    [
        FORWARD,
        TD | {"trace": 0.5},
        {},
        {"stages": (512,), "stage_games": 200},
        {"halving_games": 10},
    ],
)
def test_the_same_seed_learns_the_same_weights(settings):
    one, same, other = (made(network="0123 4567", seed=s, **settings) for s in (1, 1, 2))
    for learner in (one, same, other):
        learner.learn()
        learner.learn()
    assert np.array_equal(one.state()["weights"], same.state()["weights"])
    assert not np.array_equal(one.state()["weights"], other.state()["weights"])


def test_a_restored_learner_goes_on_as_if_nothing_had_happened():
    whole, half, again = (made(network="0123 4567") for _ in range(3))
    for _ in range(4):
        whole.learn()
    for _ in range(2):
        half.learn()
    again.restore(half.state())
    for _ in range(2):
        again.learn()
    assert np.array_equal(whole.state()["weights"], again.state()["weights"])
    assert again.games == whole.games == 400


def test_the_learning_rate_falls_by_halves():
    learner = made(network="01", halving_games=100, batch=100, learning_rate=1.0)
    rates = []
    for _ in range(3):
        rates.append(float(learner._rule().rate))
        learner.learn()
    assert rates == pytest.approx([1 / 8, 1 / 16, 1 / 32])


@pytest.mark.parametrize(("env_id", "mean"), [("Tiles2048-v0", 6000), ("Tiles2584-v0", 12000)])
def test_seconds_of_learning_go_far(env_id, mean):
    learner = made(env_id, network="0123 4567 0145 1256 569a", batch=40)
    for _ in range(5):
        learner.learn()
    assert learner.test(200)["greedy_mean"] > mean


@pytest.mark.slow
def test_two_threads_learn_as_well_as_one():
    def learned(threads):
        means = []
        for seed in range(4):  # seeds differ by a tenth
            learner = made(network="4x5", threads=threads, seed=seed)
            for _ in range(60):
                learner.learn()
            means.append(learner.test(1000)["greedy_mean"])
        return np.mean(means)

    assert learned(2) > 0.85 * learned(1)


def test_diverging_is_noticed():
    learner = made(network="0123", **TD | {"learning_rate": 1000.0})
    with pytest.raises(RuntimeError, match=r"diverged after .* a learning_rate below 1000"):
        _ = [learner.learn() for _ in range(5)]


def test_it_is_an_agent_that_sb3_takes():
    learner = made(network="0123")
    assert isinstance(learner, Learner)
    actions, state = learner.predict(boards_from_play("Tiles2048-v0"), state=None)
    assert actions.shape == (200,)
    assert state is None
    envs = DummyVecEnv([lambda: Monitor(gym.make("Tiles2048-v0"))] * 2)
    mean, _ = evaluate_policy(learner, envs, n_eval_episodes=4)
    assert mean > 0


def test_well_known_sets_are_of_their_names():
    for name, text in SETS.items():
        n, length = map(int, name.split("x"))
        tuples = text.split()
        assert len(tuples) == (5 if name == "17x4" else n)
        assert {len(cells) for cells in tuples} == {length}
    for shape in SMALL_SETS:
        env = gym.make("Tiles2048-v0", shape=shape).unwrapped
        assert Network.of(env, "", None, ()).entries < 1 << 27


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"network": "0012"}, "'0012' must have different cells from 0 to f on 4×4"),
        ({"network": "xyz"}, "cells as hexadecimal digits, such as 012345, or one of the sets 4x6"),
        ({"network": " "}, "at least one tuple"),
        ({"network": "01234567"}, "takes 48.0 GiB, and .* GiB are free: one of 4x6"),
        ({"network": "0123456789"}, "more than the 4,294,967,296 that can be numbered"),
        ({"values": 1}, "values must be from 2 to 32, got 1"),
        ({"stages": (3,)}, "3 is not a tile of 2048"),
        ({"method": "sarsa"}, "method must be td or tc, got 'sarsa'"),
        ({"direction": "up"}, "direction must be forward or backward, got 'up'"),
        ({"trace": 1.5}, "trace must be from 0 to 1, got 1.5"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0 and finite, got 0.0"),
        ({"initial": float("nan")}, "initial must be a finite number, got nan"),
        ({"direction": "forward"}, "trace must be 0 with direction forward, got 0.5"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"threads": 0}, "threads must be from 1 to 256, got 0"),
    ],
)
def test_unusable_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings)


def test_networks_of_other_boards_are_refused():
    with pytest.raises(ValueError, match="4x6 is one for 4×4, not for 2×3"):
        made(network="4x6", env_kwargs={"shape": (2, 3)})
    with pytest.raises(ValueError, match="different cells from 0 to 5 on 2×3"):
        made(network="016", env_kwargs={"shape": (2, 3)})
    with pytest.raises(ValueError, match="plays the sliding games, not tic-tac-toe"):
        NTuple(gym.make("TicTacToe-v0"), ("X",), NTupleSettings(), 0)
    with pytest.raises(ValueError, match=r"boards must have shape \(4, 4\), got \(2, 3\)"):
        made(network="01").values(np.zeros((1, 2, 3), np.uint8))


def test_checkpoints_of_other_networks_are_refused():
    learner = made(network="0123 4567")
    with pytest.raises(ValueError, match=r"network is 2048 on 4×4, 16 values, 0123 0145, expected"):
        learner.restore(made(network="0123 0145").state())
    with pytest.raises(ValueError, match="is it one of another game"):
        learner.restore(made(network="0123").state())
    theirs = made("Tiles2584-v0", network="0123 4567", values=16).state()
    with pytest.raises(ValueError, match=r"network is 2584 on 4×4.*, expected 2048 on 4×4"):
        learner.restore(theirs)


def test_a_network_too_large_for_the_memory_says_what_fits(monkeypatch):
    import psutil

    class Little:
        available = 300 << 20

    monkeypatch.setattr(psutil, "virtual_memory", Little)
    network = Network.of(gym.make("Tiles2048-v0").unwrapped, "8x6", None, ())
    with pytest.raises(
        ValueError, match=r"takes 0.5 GiB, and 0.3 GiB are free: one of 4x6, 4x5, 5x5"
    ):
        new_weights(network, 1, 0.0)


def test_kernels_take_the_tables_of_the_rules():
    env = gym.make("Tiles2584-v0", spawn={1: 0.75, 3: 0.25}).unwrapped
    game = game_of(env)
    assert game.tiles.tolist() == [1, 3]
    assert game.ends[-1] == 1 << 32
    assert np.shares_memory(game.pushed, env.tables.pushed)
    assert rows_of(env, np.eye(4, dtype=np.uint8)[None]).tolist() == [[1, 32, 1024, 32768]]


def test_an_exported_network_plays_alike_and_is_small():
    learner = made(network="0123 4567 0145")
    learner.learn()
    state = learner.exported()
    assert state["weights"].dtype == np.float16
    assert len(state["weights"]) == learner.network.size
    copy_ = made(network="0123 4567 0145", method="td", learning_rate=0.1)
    copy_.restore(state)
    boards = boards_from_play("Tiles2048-v0")
    values = learner.values(boards)
    assert np.allclose(copy_.values(boards), values, rtol=2e-3, atol=1)
    learner.state()["weights"][0] = 1e9
    with pytest.raises(ValueError, match="too large for half precision"):
        learner.exported()
